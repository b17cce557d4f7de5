"""Compares functions: two replicas pass the same one if nothing reachable from it that can change its result differs.

Its code, its defaults, closure and bound arguments, and the functions in them. What is certain to differ is a
disagreement: code, numbers, texts, enums, None, and containers of them. Other values are compared in `closures.py`.
"""

import functools
from collections.abc import Callable, Iterator
from types import CellType, CodeType, FunctionType, MethodType
from typing import Any, final

from simstrategy.run.captured import Part, differences, is_plain, part_of, plain_text
from simstrategy.run.visited import Visited
from simstrategy.short_repr import short_repr
from simstrategy.trace import Site, Subject, describe_site

__all__ = ["FunctionKey", "function_key", "held_parts", "hold_the_same"]

AnyFunction = Callable[..., Any]
"""What can be called: a function, method, partial or object."""

_SHOWN_MAX = 8
_WRAPPED_MAX = 100
_PARTS_MAX = 10_000


@final
class FunctionKey(Subject):
    """What is compared of a function.  Making one costs nothing: everything is read where it is needed."""

    __slots__ = ("function",)
    __hash__ = None  # type: ignore[assignment]  # what it holds may change

    def __init__(self, function: AnyFunction) -> None:
        self.function = function

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FunctionKey):
            return NotImplemented
        one, another = self.function, other.function
        return hold_the_same(one, another) or not any(found.certain for found in differences(one, another))

    @property
    def name(self) -> str:
        """The function's own name, also of one that a decorator has wrapped."""
        inner = _inner(self.function)
        if isinstance(inner, FunctionType):
            return inner.__code__.co_qualname.rpartition(".")[2]
        return str(getattr(inner, "__qualname__", type(inner).__qualname__))

    @property
    def site(self) -> Site | None:
        """The file and line of its definition; None where it has no Python code."""
        inner = _inner(self.function)
        return (inner.__code__.co_filename, inner.__code__.co_firstlineno) if isinstance(inner, FunctionType) else None

    @property
    def values(self) -> tuple[tuple[str, str], ...]:
        """The numbers, texts, enums and Nones that it holds, by name: the first few."""
        found: list[tuple[str, str]] = []
        for pair in _shown(self.function, "", Visited()):
            if len(found) == _SHOWN_MAX:
                break
            found.append(pair)
        return tuple(found)

    def __str__(self) -> str:
        site, values = self.site, ", ".join(f"{name}={value}" for name, value in self.values)
        where = f" ({describe_site(site)})" if site else ""
        return self.name + where + (f" with {values}" if values else "")

    def described(self) -> str:
        return str(self)

    def recorded(self) -> str:
        return str(self)

    def fingerprint(self) -> str:
        """Returns a text that is equal in another process exactly for the same function; see `captured.py`.

        Attributes of objects are left out: they may be about the process. So is what follows after 10,000 values.
        """
        return f"{self.name} {_digest(list(_printed(self.function)))}"

    def code_fingerprint(self) -> str:
        """Returns a text that is equal in another process for the same code, whatever values it holds."""
        inner = _inner(self.function)
        if isinstance(inner, FunctionType):
            return f"{self.name} {_digest_of(inner.__code__)}"
        return f"{self.name} {type(inner).__module__}.{type(inner).__qualname__}"

    def difference(self, other: Subject) -> str | None:
        if not isinstance(other, FunctionKey):
            return None
        certain = (found for found in differences(self.function, other.function) if found.certain)
        return next((str(found) for found in certain), None)


def function_key(function: AnyFunction) -> FunctionKey:
    """Returns the key of a function, method, partial or callable object."""
    return FunctionKey(function)


def hold_the_same(one: AnyFunction, other: AnyFunction) -> bool:
    """Returns whether two functions have one code and hold the very same objects: the quick way, for most of them.

    False where that is not certain.
    """
    if one is other:
        return True
    if type(one) is not FunctionType or type(other) is not FunctionType or one.__code__ is not other.__code__:
        return False
    if (
        one.__defaults__ is not other.__defaults__
        or one.__kwdefaults__ is not other.__kwdefaults__
        or one.__globals__ is not other.__globals__
        or one.__dict__
        or other.__dict__
    ):
        return False
    return _cells_hold_the_same(one.__closure__ or (), other.__closure__ or ())


def _cells_hold_the_same(cells: tuple[CellType, ...], others: tuple[CellType, ...]) -> bool:
    try:
        for cell, another in zip(cells, others, strict=True):
            if cell.cell_contents is not another.cell_contents:
                return False
    except ValueError:  # one is not bound yet
        return False
    return True


def _inner(function: AnyFunction) -> AnyFunction:
    """Returns the function inside partials, methods and decorators."""
    for _ in range(_WRAPPED_MAX):
        if isinstance(function, functools.partial):
            function = function.func
        elif isinstance(function, MethodType):
            function = function.__func__
        else:
            inner = getattr(function, "__wrapped__", None)
            if inner is None:
                break
            function = inner
    return function


def _shown(value: AnyFunction, prefix: str, seen: Visited) -> Iterator[tuple[str, str]]:
    """Yields the plain values that a function holds, and those of the functions that it holds, each once."""
    if not seen.enter(value):
        return
    children = part_of(value).children
    for label, item in [*[one for one in children if one[0]], *[one for one in children if not one[0]]]:
        name = prefix + (label.strip(" .") if isinstance(value, (FunctionType, functools.partial)) else "")
        if is_plain(item):
            is_container = isinstance(item, (tuple, list, dict, set, frozenset))
            yield name, short_repr(item) if is_container else plain_text(item)
        elif isinstance(item, (FunctionType, functools.partial, MethodType)):
            inside = isinstance(value, FunctionType)
            yield from _shown(item, f"{name}." if inside else prefix, seen)


def held_parts(function: AnyFunction) -> Iterator[tuple[str, Any, Part]]:
    """Yields a function and what it holds, from the outside in: label, value and part; 10,000 values at most.

    Attributes of objects that cannot be called are left out.
    """
    left: list[tuple[str, Any]] = [("", function)]
    seen = Visited()
    for _ in range(_PARTS_MAX):
        if not left:
            return
        label, value = left.pop()
        if isinstance(value, FunctionType) and not seen.enter(value):
            continue
        part = part_of(value)
        yield label, value, part
        if part.kind == "plain" or callable(value):
            left += reversed(part.children)


def _printed(function: AnyFunction) -> Iterator[str]:
    """Yields texts of a function and what it holds, equal in every process."""
    for label, value, part in held_parts(function):
        if isinstance(value, FunctionType):
            yield f"{label} {_digest_of(value.__code__)}"
        elif part.kind == "plain":
            yield f"{label} {part.head}"
        else:
            yield f"{label} {type(value).__qualname__ if callable(value) else 'an object'}"


def _digest(texts: list[str]) -> str:
    import hashlib  # noqa: PLC0415 - its library is felt at every start, and only processes need it

    return hashlib.sha256("\0".join(texts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


@functools.cache
def _digest_of(code: CodeType) -> str:
    parts = [code.co_code.hex(), repr((code.co_names, code.co_varnames, code.co_firstlineno))]
    return _digest([*parts, *map(_constant, code.co_consts)])


def _constant(value: object) -> str:
    """Writes a constant alike in every process: the order in which a set is printed is each process's own."""
    if isinstance(value, CodeType):
        return _digest_of(value)
    if isinstance(value, frozenset):
        return f"{{{', '.join(sorted(map(_constant, value)))}}}"
    if isinstance(value, tuple):
        return f"({', '.join(map(_constant, value))})"
    return repr(value)
