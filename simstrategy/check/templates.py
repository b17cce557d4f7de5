"""Arguments of a script that depend on the run: `{64//replicas}` in them stands for a number.

In braces stand whole numbers, the names `replicas`, `rank` and those of `vary`, `+ - * // %` and parentheses. Doubled
braces stand for braces. Nothing else is computed, and no Python is executed.
"""

import ast
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from simstrategy.errors import InvalidArgument
from simstrategy.short_repr import short_repr

__all__ = ["RANK", "REPLICAS", "are_shares", "filled", "names_in", "require_names"]

REPLICAS: Final = "replicas"
"""The name that stands for the number of replicas."""
RANK: Final = "rank"
"""The name that stands for a replica's own number, alone in its braces."""

_PARTS: Final = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]|[^{}]+")
_OPERATORS: Final[dict[type[ast.operator], Callable[[int, int], int]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_ALLOWED: Final = (
    "In braces stand whole numbers, names, + - * // % and parentheses, such as {64//replicas}; doubled braces stand "
    "for braces."
)
_CHARACTERS_MAX: Final = 200


def filled(arguments: Sequence[str], values: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns the arguments with values in place of what is in braces.

    values: by name; those that are computed with are whole numbers. Raises InvalidArgument for an expression that is
    none, an unknown name, and a whole number that a division by a name does not divide: runs would then have other
    global batches.

    >>> filled(["--batch-size", "{64//replicas}", "{{}}"], {"replicas": 4})
    ('--batch-size', '16', '{}')
    """
    return tuple("".join(_filled(text, values)) for text in arguments)


def names_in(arguments: Sequence[str]) -> set[str]:
    """Returns the names that stand in braces.

    >>> names_in(["--batch-size", "{64//replicas}"])
    {'replicas'}
    """
    trees = [tree for text in arguments for tree in _trees(text)]
    return {one.id for tree in trees for one in ast.walk(tree) if isinstance(one, ast.Name)}


def are_shares(arguments: Sequence[str]) -> bool:
    """Returns whether something is computed with the number of replicas, such as what each has of a whole.

    The number alone states how many there are, and nothing of what they share.

    >>> are_shares(["--gpus", "{replicas}"]), are_shares(["--batch-size", "{64//replicas}"])
    (False, True)
    """
    trees = [tree for text in arguments for tree in _trees(text) if not isinstance(tree, ast.Name)]
    return any(isinstance(one, ast.Name) and one.id == REPLICAS for tree in trees for one in ast.walk(tree))


def require_names(arguments: Sequence[str], names: Sequence[str]) -> None:
    """Raises InvalidArgument for a name of `vary` that no argument has, since all its runs would be the same."""
    found = names_in(arguments)
    for name in names:
        if name not in found:
            raise InvalidArgument(
                f"vary names {name!r}, which no argument of the script has: add for example -- --{name} {{{name}}}."
            )


def _trees(text: str) -> Iterator[ast.expr]:
    for part in _PARTS.finditer(text):
        if part[1] is not None:
            yield _parsed(part[1], text)


def _filled(text: str, values: Mapping[str, Any]) -> Iterator[str]:
    for part in _PARTS.finditer(text):
        if part[1] is not None:
            tree = _parsed(part[1], text)
            yield str(_named(tree, values, text) if isinstance(tree, ast.Name) else _value(tree, values, text))
        elif part[0] in ("{", "}"):
            raise _wrong(text, f"a {part[0]!r} that is alone")
        else:
            yield part[0][0] if part[0] in ("{{", "}}") else part[0]


def _parsed(expression: str, text: str) -> ast.expr:
    if len(expression) > _CHARACTERS_MAX:
        raise _wrong(text, f"an expression of more than {_CHARACTERS_MAX} characters")
    try:
        return ast.parse(expression.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise _wrong(text, f"{{{expression}}}, which is no expression") from error


def _value(tree: ast.expr, values: Mapping[str, Any], text: str) -> int:
    if isinstance(tree, ast.Constant) and type(tree.value) is int:
        return tree.value
    if isinstance(tree, ast.Name):
        found = _named(tree, values, text)
        if tree.id == RANK and type(found) is not int:
            raise _wrong(
                text, f"{RANK} in an expression: each replica has another one, so it stands alone in its braces"
            )
        if type(found) is not int:
            raise _wrong(text, f"{tree.id}, which is {short_repr(found)} and no whole number, in an expression")
        return found
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub):
        return -_value(tree.operand, values, text)
    if isinstance(tree, ast.BinOp) and type(tree.op) in _OPERATORS:
        left, right = [_value(one, values, text) for one in (tree.left, tree.right)]
        if isinstance(tree.op, ast.FloorDiv | ast.Mod) and not right:
            raise _wrong(text, f"{ast.unparse(tree)}, which divides by 0 with {_listed(values)}")
        if isinstance(tree.op, ast.FloorDiv) and _is_number(tree.left) and left % right:
            raise InvalidArgument(
                f"The argument {text!r} has {ast.unparse(tree)}, which leaves a remainder with {_listed(values)}: the "
                f"runs would not have one global batch. Leave that value out, or take a number that it divides."
            )
        return _OPERATORS[type(tree.op)](left, right)
    raise _wrong(text, ast.unparse(tree))


def _named(tree: ast.Name, values: Mapping[str, Any], text: str) -> Any:
    if tree.id not in values:
        raise _wrong(text, f"the name {tree.id!r}, and the names here are {', '.join(values)}")
    return values[tree.id]


def _is_number(tree: ast.expr) -> bool:
    """Returns whether an expression has no names."""
    return not any(isinstance(one, ast.Name) for one in ast.walk(tree))


def _listed(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in values.items())


def _wrong(text: str, what: str) -> InvalidArgument:
    return InvalidArgument(f"The argument {text!r} has {what}. {_ALLOWED}")
