"""Which names of a script hold what it trains, and what they hold at its end.

A training step computes new values from the old ones: ``params = update(params, batch)``, or changes an object that it
takes: ``step(model, batch)``. After each such statement another one keeps the value, so that the last one is known.
"""

import ast
from collections.abc import Iterator
from typing import Any, Final, final

__all__ = ["KEEP", "Keeping", "Kept"]

KEEP: Final = "__simstrategy_keep__"
"""The name of the function that a script calls after a statement."""


@final
class Kept:
    """The last values of a script's names, by name and scope, in the order in which they were first kept.

    fed_back: those that were computed from the name's own value before. taken: those that a call in a loop takes.

    >>> kept = Kept()
    >>> kept.keep("params of main", 1, True)
    >>> kept.keep("params of main", 2, True)
    >>> kept.fed_back
    {'params of main': 2}
    """

    def __init__(self) -> None:
        self.fed_back: dict[str, Any] = {}
        self.taken: dict[str, Any] = {}

    def keep(self, name: str, value: object, is_fed_back: bool) -> None:
        (self.fed_back if is_fed_back else self.taken)[name] = value


@final
class Keeping(ast.NodeTransformer):
    """Adds a call of KEEP after each statement that computes a name from itself, or has a call in a loop take one."""

    def __init__(self) -> None:
        self._scope: list[str] = []
        self._loops = 0

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._in_scope(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._in_scope(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return self._in_scope(node)

    def visit_For(self, node: ast.For) -> ast.AST:
        return self._in_loop(node)

    def visit_While(self, node: ast.While) -> ast.AST:
        return self._in_loop(node)

    def visit_Assign(self, node: ast.Assign) -> list[ast.stmt]:
        return self._kept(node, node.targets, node.value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> list[ast.stmt]:
        return [node] if node.value is None else self._kept(node, [node.target], node.value)

    def visit_AugAssign(self, node: ast.AugAssign) -> list[ast.stmt]:
        return [node, *self._calls(node, {_text(one): True for one in _held(node.target)})]

    def visit_Expr(self, node: ast.Expr) -> list[ast.stmt]:
        return self._kept(node, [], node.value)

    def _in_scope(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> ast.AST:
        loops, self._loops = self._loops, 0
        self._scope.append(node.name)
        self.generic_visit(node)
        self._scope.pop()
        self._loops = loops
        return node

    def _in_loop(self, node: ast.For | ast.While) -> ast.AST:
        self._loops += 1
        self.generic_visit(node)
        self._loops -= 1
        return node

    def _kept(self, node: ast.stmt, targets: list[ast.expr], value: ast.expr) -> list[ast.stmt]:
        """Returns a statement and the calls that keep what it computes.  value: of the statement."""
        read = {_text(one) for one in ast.walk(value) if isinstance(one, ast.Name | ast.Attribute)}
        found = {_text(one): True for target in targets for one in _held(target) if _text(one) in read}
        if self._loops and isinstance(value, ast.Call):
            for one in _taken(value):
                found.setdefault(_text(one), False)
        return [node, *self._calls(node, found)]

    def _calls(self, node: ast.stmt, found: dict[str, bool]) -> Iterator[ast.stmt]:
        """Yields a call of KEEP for each name of a statement.  found: by name, whether it is fed back."""
        for name, is_fed_back in found.items():
            scope = f" of {'.'.join(self._scope)}" if self._scope else ""
            (call,) = ast.parse(f"{KEEP}({name + scope!r}, {name}, {is_fed_back})").body
            for one in ast.walk(call):
                ast.copy_location(one, node)
            yield call


def _held(target: ast.expr) -> Iterator[ast.expr]:
    """Yields the names and attributes that an assignment changes; of ``a[0]`` it is ``a``."""
    match target:
        case ast.Tuple(elts=several) | ast.List(elts=several):
            for one in several:
                yield from _held(one)
        case ast.Starred(value=one) | ast.Subscript(value=one):
            yield from _held(one)
        case ast.Name() | ast.Attribute() if _is_dotted(target):
            yield target


def _taken(call: ast.Call) -> Iterator[ast.expr]:
    """Yields the names and attributes that a call takes, with the object of a method."""
    receiver = [call.func.value] if isinstance(call.func, ast.Attribute) else []
    given = [one.value for one in call.keywords]
    yield from [one for one in (*receiver, *call.args, *given) if _is_dotted(one)]


def _is_dotted(node: ast.expr) -> bool:
    """Returns whether an expression is a name, or an attribute of one, as in ``self.model.params``."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def _text(node: ast.expr) -> str:
    return ast.unparse(node)
