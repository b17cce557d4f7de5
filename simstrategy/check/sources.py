"""What the text of a Python file shows of it, so that a script is refused before it trains.  It runs nothing."""

import ast
from typing import Any, Final

__all__ = ["LAUNCHED", "MOSTLY_READ", "imported_by", "lacks", "parsed", "strategy_of", "words_of"]

_DYNAMIC: Final = frozenset(("globals", "locals", "vars", "setattr", "__getattr__", "builtins", "__builtins__"))
"""Names by which a file may define others that its text does not have."""

_EXECUTING: Final = frozenset(("exec", "eval"))
"""Functions that do so too. As attributes they are others', such as `model.eval()`."""

MOSTLY_READ: Final = frozenset(("locals", "vars", "setattr"))
"""Those of these names with which scripts read or change other objects than their own module."""

LAUNCHED: Final = frozenset(("torch",))
"""Libraries whose scripts a launcher starts."""


def lacks(tree: ast.Module | None, name: str, *, unless: frozenset[str] = frozenset()) -> bool:
    """Returns whether a file certainly defines no such name: its text has the name nowhere, and no way to make it.

    tree: as `parsed` returns it; False for None, a text that is no Python: to run it names the line.
    unless: names of ways that do not count.
    """
    if tree is None:
        return False
    words = words_of(tree)
    executes = any(isinstance(node, ast.Name) and node.id in _EXECUTING for node in ast.walk(tree))
    return name not in words and "*" not in words and not executes and not words & (_DYNAMIC - unless)


def strategy_of(tree: ast.Module | None) -> str | None:
    """Returns how a script of TensorFlow makes a strategy of its own, such as "tf.distribute.MirroredStrategy".

    tree: as of `lacks`. None where it makes none, and where it names torch: then torch's launcher may be the right one.
    """
    if tree is None or any(word.partition(".")[0] in LAUNCHED for word in words_of(tree)):
        return None
    calls = [ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return next((one for one in calls if "distribute." in one and one.endswith("Strategy")), None)


def imported_by(tree: ast.Module) -> frozenset[str]:
    """Returns the packages that a file imports, at any place."""
    names = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names.append(node.module or "")
    return frozenset(name.partition(".")[0] for name in names)


def parsed(source: bytes) -> ast.Module | None:
    """Returns the tree of a text; None of one that is no Python."""
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return None


def words_of(tree: ast.Module) -> frozenset[str]:
    """Returns the texts of a file: names, attributes, aliases, and constants that are texts."""
    return frozenset(word for node in ast.walk(tree) for word in _words(node))


def _words(node: ast.AST) -> list[str]:
    """Returns the texts of a node's own fields: names, attributes, aliases, and constants that are texts."""
    found: list[Any] = [value for _, value in ast.iter_fields(node)]
    found += [one for value in found if isinstance(value, list) for one in value]
    return [one for one in found if isinstance(one, str)]
