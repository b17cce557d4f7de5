"""Which names of a script hold what it trains, and what they hold at its end.

A training step computes new values from the old ones: ``params = update(params, batch)``, or changes an object that it
takes: ``step(model, batch)``. After each such statement another one keeps the value, so that the last one is known.
A statement that gives the name another form is no step: it converts a state, or adds to a list of losses.
"""

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, NamedTuple, final

import numpy as np

from simstrategy.check.distances import same_bits

__all__ = ["BEFORE", "FED_BACK", "KEEP", "TAKEN", "WITHIN", "Form", "Keeping", "Kept", "with_forms"]

KEEP: Final = "__simstrategy_keep__"
"""The name of the function that a script calls after a statement."""
BEFORE: Final = "__simstrategy_before__"
"""The name of the function that a script calls before a statement that computes a name from itself."""
FED_BACK: Final = "fed back"
TAKEN: Final = "taken"
WITHIN: Final = "within"
"""How a statement has a name, as of `Kept`."""
_SELF: Final = "self"


class Form(NamedTuple):
    """What is known of a value.

    shapes: of its parts, which a step does not change. is_state: whether it can be what a script trains. arrays: the
    identities of its arrays. parts: these arrays, [any shape] each.

    >>> Form(((2, 3), (3,)), is_state=True).shapes
    ((2, 3), (3,))
    """

    shapes: tuple[Any, ...]
    is_state: bool
    arrays: frozenset[int] = frozenset()
    parts: tuple[Any, ...] = ()


def _any_state(value: object) -> Form:
    """Returns one form for all values."""
    return Form((), is_state=True)


_FORM: ContextVar[Callable[[object], Form]] = ContextVar("form of a value", default=_any_state)


@contextmanager
def with_forms(form: Callable[[object], Form]) -> Iterator[None]:
    """Has scripts that are executed inside keep what has a form.  form: returns it."""
    token = _FORM.set(form)
    try:
        yield
    finally:
        _FORM.reset(token)


@final
class Kept:
    """The last values of a script's names, by name and scope, in the order in which they were first kept.

    fed_back: those that were computed from the name's own value before, which had the same form. taken: those that a
    call in a loop takes. within: those that a call takes whose result is part of an expression. carried: those of
    fed_back that a statement has computed from what one had kept: such a name goes through a loop, where a batch does
    not. changed: those of fed_back that a statement has given another value, where a copy to devices gives none.

    >>> kept = Kept()
    >>> kept.keep("params of main", 1, FED_BACK)
    >>> kept.keep("params of main", 2, FED_BACK)
    >>> kept.fed_back
    {'params of main': 2}
    """

    def __init__(self) -> None:
        self.fed_back: dict[str, Any] = {}
        self.taken: dict[str, Any] = {}
        self.within: dict[str, Any] = {}
        self.carried: set[str] = set()
        self.changed: set[str] = set()
        self._form = _FORM.get()
        self._before: dict[str, Form] = {}
        self._last: dict[str, frozenset[int]] = {}

    def before(self, name: str, value: object) -> None:
        """Notes the form that a name's value has before a statement."""
        self._before[name] = self._form(value)

    def keep(self, name: str, value: object, how: str) -> None:
        if how != FED_BACK:
            (self.taken if how == TAKEN else self.within)[name] = value
            return
        form = self._form(value)
        before = self._before.pop(name, form)
        if form.is_state and before.shapes == form.shapes:
            if before.arrays & self._last.get(name, frozenset()):
                self.carried.add(name)
            self.fed_back[name], self._last[name] = value, form.arrays
            if name not in self.changed and not _are_equal(before.parts, form.parts):
                self.changed.add(name)


def _are_equal(before: tuple[Any, ...], after: tuple[Any, ...]) -> bool:
    """Returns whether arrays, [any shape] each, are there and hold the same bits as others; False without any."""
    try:
        pairs = [[np.asarray(one) for one in pair] for pair in zip(before, after, strict=True)]
    except Exception:  # noqa: BLE001 - of what was given away, or has no values on the host, nothing is known
        return False
    return bool(pairs) and all(same_bits(one, other) for one, other in pairs)


@final
class Keeping(ast.NodeTransformer):
    """Adds a call of KEEP after each statement that computes a name from itself, or has a call in a loop take one."""

    def __init__(self) -> None:
        self._scope: list[str] = []
        self._loops = 0
        self._computed: dict[str, frozenset[str]] = {}  # by name, what its last assignment reads

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
        return self._around(node, self._taken_in(node.value) | {_text(one): FED_BACK for one in _held(node.target)})

    def visit_Expr(self, node: ast.Expr) -> list[ast.stmt]:
        return self._kept(node, [], node.value)

    def _in_scope(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> ast.AST:
        loops, self._loops = self._loops, 0
        computed, self._computed = self._computed, {}
        self._scope.append(node.name)
        self.generic_visit(node)
        self._scope.pop()
        self._loops, self._computed = loops, computed
        return node

    def _in_loop(self, node: ast.For | ast.While) -> ast.AST:
        self._loops += 1
        self.generic_visit(node)
        self._loops -= 1
        return node

    def _kept(self, node: ast.stmt, targets: list[ast.expr], value: ast.expr) -> list[ast.stmt]:
        """Returns a statement and the calls that keep what it computes.  value: of the statement."""
        read = frozenset(_text(one) for one in ast.walk(value) if isinstance(one, ast.Name | ast.Attribute))
        found = {_text(one): FED_BACK for target in targets for one in _held(target) if _text(one) in read}
        for target in targets:
            copies = {_text(new): FED_BACK for new, old in _copies(target, value) if _text(new) in self._read_for(old)}
            found |= copies
        self._computed |= {_text(one): read for target in targets for one in _held(target)}
        return self._around(node, self._taken_in(value) | found)

    def _taken_in(self, value: ast.expr) -> dict[str, str]:
        """Returns the names that calls in a loop take, and how: of the value itself, or of what its parts compute."""
        calls = [one for one in ast.walk(value) if self._loops and isinstance(one, ast.Call)]
        within = {_text(name): WITHIN for one in calls if one is not value for name in _taken(one)}
        return within | {_text(name): TAKEN for one in calls if one is value for name in _taken(one)}

    def _read_for(self, name: ast.expr) -> frozenset[str]:
        return self._computed.get(_text(name), frozenset())

    def _around(self, node: ast.stmt, found: dict[str, str]) -> list[ast.stmt]:
        """Returns a statement between the calls for its names.  found: by name, how the statement has it."""
        scope = f" of {'.'.join(self._scope)}" if self._scope else ""
        before = [
            _made(_BEFORE_TEXT.format(name + scope, name), node) for name, how in found.items() if how == FED_BACK
        ]
        after = [
            _made((_WITHIN_TEXT if how == WITHIN else _AFTER_TEXT).format(name + scope, name, how), node)
            for name, how in found.items()
        ]
        return [*before, node, *after]


_AFTER_TEXT: Final = f"{KEEP}({{0!r}}, {{1}}, {{2!r}})"
_WITHIN_TEXT: Final = f"try: {_AFTER_TEXT}\nexcept (NameError, AttributeError): pass"
_BEFORE_TEXT: Final = f"try: {BEFORE}({{0!r}}, {{1}})\nexcept (NameError, AttributeError): pass"
"""A name in a comprehension or a lambda may have no value outside of it."""


def _made(text: str, node: ast.stmt) -> ast.stmt:
    """Returns the statement of a text, at the place of another one."""
    (made,) = ast.parse(text).body
    for one in ast.walk(made):
        ast.copy_location(one, node)
    return made


def _copies(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yields the names that an assignment gives the value of another name, or a part of it, each with that one."""
    match target, value:
        case ((ast.Tuple(elts=new) | ast.List(elts=new)), (ast.Tuple(elts=old) | ast.List(elts=old))):
            for one, other in zip(new, old, strict=False):
                yield from _copies(one, other)
        case ((ast.Tuple() | ast.List() | ast.Name() | ast.Attribute()), ast.Subscript(value=old)):
            yield from _copies(target, old)
        case ((ast.Tuple(elts=new) | ast.List(elts=new)), _):
            for one in new:
                yield from _copies(one, value)
        case ((ast.Name() | ast.Attribute()), (ast.Name() | ast.Attribute())) if _is_dotted(target) and _is_dotted(
            value
        ):
            yield target, value


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
    """Yields the names that a call takes, with the object of a method.

    Of attributes it is those of ``self``: another one may be a property, which would be read once more.
    """
    receiver = [call.func.value] if isinstance(call.func, ast.Attribute) else []
    given = [one.value for one in call.keywords]
    for one in (*receiver, *call.args, *given):
        if isinstance(one, ast.Name) or (isinstance(one, ast.Attribute) and _text(one.value) == _SELF):
            yield one


def _is_dotted(node: ast.expr) -> bool:
    """Returns whether an expression is a name, or an attribute of one, as in ``self.model.params``."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def _text(node: ast.expr) -> str:
    return ast.unparse(node)
