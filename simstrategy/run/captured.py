"""What a function holds beside its code (closure variables, defaults, bound arguments), and where two functions differ.

Two values are compared part by part, down to numbers, texts, arrays and objects that have no parts. Names of functions
and texts for messages are in `functions.py`.
"""

import dataclasses
import enum
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from types import (
    BuiltinFunctionType,
    FunctionType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any, Final, Literal, NamedTuple, TypeVar, final

import numpy as np

from simstrategy.run.reachable import functions_in, reachable_names
from simstrategy.run.visited import Visited
from simstrategy.short_repr import short_repr
from simstrategy.values import Component, DistributedValues, LocalValue

__all__ = ["Difference", "Host", "Part", "ReplicaLocal", "differences", "is_plain", "part_of", "plain_text"]

V = TypeVar("V")
"""Anything that a function may hold."""

_Pair = tuple[str, Any, Any]
"""Where two values are, and the values."""

Host = Callable[[Any], np.ndarray[Any, Any] | None]
"""Returns an array's values, or None for what is no array."""

_PLAIN: Final = (int, float, complex, str, bytes, enum.Enum, type(None), np.generic)
_BUILT_IN: Final = (BuiltinFunctionType, MethodDescriptorType, WrapperDescriptorType, MethodWrapperType, np.ufunc)
_MISSING: Final = "no such attribute"
_PAIRS_MAX: Final = 10_000
_ITEMS_MAX: Final = 1_000


class ReplicaLocal:
    """The base of what is another object in every replica, and is not compared: a replica context."""

    __slots__ = ()


class Part(NamedTuple):
    """A value as it is compared."""

    kind: Literal["plain", "object", "opaque", "ignored"]
    """plain: by head and children. object: by its type, and its attributes that the function may read. opaque: it has
    no parts that could be compared. ignored: not compared."""
    head: object
    children: tuple[tuple[str, Any], ...] = ()
    """Labels and values: `.name` of an attribute, `[key]` of an element, ` name` of anything else."""


class Difference(NamedTuple):
    """Where two functions differ.

    certain: other code, numbers or texts. Otherwise arrays of other values, or objects that cannot be compared.
    """

    where: str
    certain: bool
    left: str
    right: str

    def __str__(self) -> str:
        return f"{self.where.strip(' .') or 'the function'}: {self.left} and {self.right}"


def is_plain(value: V) -> bool:
    """Returns whether a value is a number, text, enum or None, or a container of such values alone."""
    if isinstance(value, _PLAIN):
        return True
    if isinstance(value, Mapping):
        return all(map(is_plain, value)) and all(map(is_plain, value.values()))
    return isinstance(value, (tuple, list, set, frozenset)) and all(map(is_plain, value))


def plain_text(value: V) -> str:
    """Returns the text of a number, text, enum or None: equal exactly for equal values of equal types."""
    if isinstance(value, enum.Enum):
        return f"{type(value).__qualname__}.{value.name}"
    return repr(value)


def part_of(value: V) -> Part:
    """Returns a value's head and children; of an object without its attributes."""
    if isinstance(value, _PLAIN):
        return Part("plain", (type(value).__qualname__, plain_text(value)))
    return next((make(value) for kinds, make in _PARTS if isinstance(value, kinds)), None) or _object_part(value)


def _function_part(value: FunctionType) -> Part:
    return Part("plain", (value.__code__, value.__code__.co_filename), tuple(_held_by(value)))


def _partial_part(value: functools.partial[Any]) -> Part:
    arguments = [(f" argument {i}", item) for i, item in enumerate(value.args)]
    arguments += [(f" {name}", item) for name, item in sorted(value.keywords.items())]
    return Part("plain", ("partial", len(value.args)), (("", value.func), *arguments))


def _sequence_part(value: Sequence[Any]) -> Part:
    name = type(value).__qualname__
    if len(value) > _ITEMS_MAX:
        return Part("opaque", type(value))  # compared as a whole
    return Part("plain", (name, len(value)), tuple([(f"[{i}]", one) for i, one in enumerate(value)]))


def _set_part(value: Set[Any]) -> Part:
    plain = all(isinstance(one, _PLAIN) for one in value)
    return (
        Part("plain", (type(value).__qualname__, *sorted(map(repr, value)))) if plain else Part("opaque", type(value))
    )


def _dict_part(value: dict[Any, Any]) -> Part:
    items = [(f"[{short_repr(key)}]", one) for key, one in value.items()]
    return Part("plain", (type(value).__qualname__, *[label for label, _ in items]), tuple(items))


def _built_in_part(value: Any) -> Part:
    owner = value.__self__ if isinstance(value, (BuiltinFunctionType, MethodWrapperType)) else None
    held = () if owner is None or isinstance(owner, ModuleType) else ((".self", owner),)
    return Part("plain", (type(value).__qualname__, value.__name__), held)


_PARTS: Final[tuple[tuple[type | tuple[type, ...], Callable[[Any], Part]], ...]] = (
    (FunctionType, _function_part),
    (MethodType, lambda value: Part("plain", "method", ((" function", value.__func__), (".self", value.__self__)))),
    (functools.partial, _partial_part),
    ((tuple, list), _sequence_part),
    ((set, frozenset), _set_part),
    (dict, _dict_part),
    (ModuleType, lambda value: Part("plain", ("module", value.__name__))),
    (type, lambda value: Part("plain", ("class", value.__module__, value.__qualname__))),
    (_BUILT_IN, _built_in_part),
    (ReplicaLocal, lambda _: Part("ignored", None)),
    (Component, lambda value: Part("plain", ("component", value.index), ((" container", value.container),))),
    (DistributedValues, lambda value: Part("object", type(value), ((".values", value.values),))),
    (LocalValue, lambda value: Part("plain", type(value).__qualname__)),  # a variable: see `_Walk.compare`
)
"""How values of each type are opened; the first row counts."""


def _object_part(value: V) -> Part:
    wrapped = getattr(value, "__wrapped__", None) if callable(value) else None
    if wrapped is not None:
        return Part("object", type(value), (("", wrapped),))
    return Part("opaque" if _attributes(value) is None else "object", type(value))


def _held_by(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """Yields closure variables, defaults and attributes of a function; closure variables not bound yet are left out."""
    code = function.__code__
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield f" {name}", cell.cell_contents
        except ValueError:  # not bound yet
            continue
    defaults = function.__defaults__ or ()
    named = code.co_varnames[: code.co_argcount][code.co_argcount - len(defaults) :]
    yield from ((f" {name}", item) for name, item in zip(named, defaults, strict=True))
    yield from ((f" {name}", item) for name, item in sorted((function.__kwdefaults__ or {}).items()))
    # Frameworks and decorators mark functions by attributes that the functions do not read.
    attributes = sorted(vars(function).items())
    yield from ((f".{name}", item) for name, item in attributes if name in code.co_names)


def _attributes(value: V) -> dict[str, Any] | None:
    """Returns the attributes of an object, or None where they are not known."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    try:
        found: dict[str, Any] = vars(value)
    except TypeError:
        return None
    return found


def differences(one: V, other: V, host: Host | None = None) -> Iterator[Difference]:
    """Yields where two functions differ, from the outside in; nothing where calling either gives the same.

    host: makes arrays comparable; without it only what is certain to differ is looked for. Objects are compared by the
    attributes that the functions' code names, directly or through functions and methods.
    """
    walk = _Walk(one, other, host)
    for where, left, right in walk:
        found = walk.compare(where, left, right)
        if found is not None:
            yield found
    if walk.is_cut:
        yield Difference("more values than are compared", False, str(_PAIRS_MAX), "more")


@final
class _Walk:
    """The pairs of values that are still to be compared: objects last, when all functions that read them are known."""

    __slots__ = ("_functions", "_host", "_objects", "_pairs", "_seen", "is_cut")

    def __init__(self, one: V, other: V, host: Host | None) -> None:
        self._host = host
        self._pairs: list[_Pair] = [("", one, other)]
        self._objects: list[_Pair] = []
        self._functions: list[FunctionType] = []
        self._seen = Visited()
        self.is_cut = False

    def __iter__(self) -> Iterator["_Pair"]:
        while self._pairs or self._objects:
            if not self._pairs:
                self._pairs = [*self._attributes_of(self._objects)]
                self._objects = []
                continue
            where, left, right = self._pairs.pop()
            self._note(left)
            if left is right or not self._seen.enter(left, right):
                continue
            if len(self._seen) > _PAIRS_MAX:
                self.is_cut = True
                return
            yield where, left, right

    def compare(self, where: str, left: V, right: V) -> Difference | None:
        """Returns a difference of two values, or adds the pairs of their parts, which are compared next."""
        if self._host is not None:
            one, other = self._host(left), self._host(right)
            if one is not None and other is not None:
                return None if _same_array(one, other) else Difference(where, False, _form(one), _form(other))
        first, second = part_of(left), part_of(right)
        if "plain" in (first.kind, second.kind):
            labels = [[label for label, _ in part.children] for part in (first, second)]
            if first[:2] != second[:2] or labels[0] != labels[1] or (isinstance(left, LocalValue) and not labels[0]):
                return Difference(where, True, _text(left), _text(right))
        elif "ignored" in (first.kind, second.kind):
            return None
        elif first.head is not second.head or "opaque" in (first.kind, second.kind):
            certain = first.head is not second.head and callable(left) and callable(right)
            if self._host is None and not certain:
                return None  # not even compared: an operator of a framework's value may add to its graph
            return None if _is_equal(left, right) else Difference(where, certain, _text(left), _text(right))
        elif not first.children:
            self._objects.append((where, left, right))
        parts = zip(first.children, second.children, strict=False)
        self._pairs += reversed([(where + label, one, other) for (label, one), (_, other) in parts])
        if isinstance(left, FunctionType) and isinstance(right, FunctionType):
            self._add_globals(where, left, right)
        return None

    def _note(self, value: V) -> None:
        """Keeps the functions that are called, also those that both sides have."""
        for one in functions_in(value):
            self._functions.append(one)

    def _add_globals(self, where: str, left: FunctionType, right: FunctionType) -> None:
        here, there = left.__globals__, right.__globals__
        if here is not there:
            both = sorted(reachable_names([left], ()) & here.keys() & there.keys())
            self._pairs += [(f"{where} {name}", here[name], there[name]) for name in both]

    def _attributes_of(self, objects: list["_Pair"]) -> Iterator["_Pair"]:
        """Yields the pairs of the attributes of objects that the functions may read."""
        for where, left, right in objects:
            names = reachable_names(self._functions, (type(left),))
            here, there = _attributes(left) or {}, _attributes(right) or {}
            for name in sorted(names & (here.keys() | there.keys()), reverse=True):
                yield f"{where}.{name}", here.get(name, _MISSING), there.get(name, _MISSING)


def _is_equal(left: V, right: V) -> bool:
    """Returns whether two objects of one type report that they are equal."""
    try:
        return type(left) is type(right) and bool(left == right)
    except Exception:  # noqa: BLE001 - a user's object: what cannot be compared is not known to be equal
        return False


def _same_array(left: np.ndarray[Any, Any], right: np.ndarray[Any, Any]) -> bool:
    return (left.shape, left.dtype) == (right.shape, right.dtype) and left.tobytes() == right.tobytes()


def _form(array: np.ndarray[Any, Any] | None) -> str:
    assert array is not None
    return f"{array.dtype}{list(array.shape)} {short_repr(array.tolist())}"


def _text(value: V) -> str:
    if isinstance(value, FunctionType):
        return f"{value.__qualname__} of line {value.__code__.co_firstlineno}"
    return short_repr(value)
