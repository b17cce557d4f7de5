"""The names that functions may read as attributes or globals: those in their code, and in what it calls by name.

An approximation from above for what the code writes out; names that are computed while it runs are not known.
"""

from collections.abc import Iterable, Iterator
from functools import cached_property, lru_cache, partial
from types import CodeType, FunctionType, MethodType
from typing import Final, TypeVar

from simstrategy.run.visited import Visited

__all__ = ["functions_in", "reachable_names"]

V = TypeVar("V")
"""Anything that a name may stand for."""

_NEVER: Final = frozenset(
    {"__init__", "__new__", "__repr__", "__str__", "__del__", "__init_subclass__", "__reduce__", "__eq__", "__hash__"}
)
"""Special methods that do not count as called wherever an object of their class is used."""

_FUNCTIONS_MAX: Final = 200


def functions_in(value: V) -> Iterator[FunctionType]:
    """Yields the Python functions that a call of a function, method or partial runs first."""
    inner: object = value
    while isinstance(inner, (partial, MethodType)):
        inner = inner.func if isinstance(inner, partial) else inner.__func__
    if isinstance(inner, FunctionType):
        yield inner


@lru_cache(maxsize=1024)
def _names_in(code: CodeType) -> frozenset[str]:
    inner = [_names_in(one) for one in code.co_consts if isinstance(one, CodeType)]
    return frozenset(code.co_names).union(*inner)


def reachable_names(functions: Iterable[FunctionType], kinds: tuple[type, ...]) -> set[str]:
    """Returns the names in functions, in the functions of their modules that these name, and in methods that they name.

    kinds: the classes whose methods they may be; their special methods always count.
    """
    names, left, seen = set[str](), list(functions), Visited()
    while left and len(seen) < _FUNCTIONS_MAX:
        function = left.pop()
        if not seen.enter(function):
            continue
        found = _names_in(function.__code__)
        names |= found
        left += [one for name in sorted(found) for one in functions_in(function.__globals__.get(name))]
    methods = {
        name: code
        for kind in kinds
        for base in reversed(kind.__mro__)
        for name, one in vars(base).items()
        if (code := _code_of(one)) is not None
    }
    waiting = {name for name in methods if name in names or (name.startswith("__") and name not in _NEVER)}
    while waiting:
        found = _names_in(methods.pop(waiting.pop()))
        names |= found
        waiting |= found & methods.keys()
    return names


def _code_of(attribute: V) -> CodeType | None:
    """Returns the code of a method or property, None for anything else."""
    inner: object = attribute
    if isinstance(attribute, (staticmethod, classmethod)):
        inner = attribute.__func__
    elif isinstance(attribute, property):
        inner = attribute.fget
    elif isinstance(attribute, cached_property):
        inner = attribute.func
    return inner.__code__ if isinstance(inner, FunctionType) else None
