"""The text of a value in a message: short, and the same in every run.  No other formatting is done here."""

import dataclasses
import re
from collections.abc import Callable, Iterable
from types import FunctionType, SimpleNamespace
from typing import Any, Final, TypeVar

__all__ = ["short_repr", "stable_repr", "without_addresses"]

V = TypeVar("V")
"""Anything that a message may show."""

_ADDRESS: Final = re.compile(r" at 0x[0-9A-Fa-f]+")
_LENGTH_MAX: Final = 200
_DEPTH_MAX: Final = 10


def without_addresses(text: str) -> str:
    """Returns a text without the memory addresses of objects, which differ from run to run.

    >>> without_addresses("<function f at 0x7f2a>")
    '<function f>'
    """
    return _ADDRESS.sub("", text)


def short_repr(value: V) -> str:
    """Returns `stable_repr` in at most 200 characters; what is left out is marked by an ellipsis.

    >>> short_repr({"b", "a"})
    "a set of 'a', 'b'"
    """
    if isinstance(value, (set, frozenset)):
        text = f"a {type(value).__name__} of {', '.join(sorted(map(stable_repr, value)))}"
    else:
        text = stable_repr(value)
    return text if len(text) <= _LENGTH_MAX else text[: _LENGTH_MAX - 1] + "…"


def stable_repr(value: V) -> str:
    """Returns the repr of a value without what differs from run to run.

    Memory addresses are left out, and the elements of sets are sorted. Where a repr raises, the type is named.

    >>> stable_repr(iter(()))
    '<tuple_iterator object>'
    >>> stable_repr({"names": {"b", "a"}})
    "{'names': {'a', 'b'}}"
    """
    return _text(value, _DEPTH_MAX)


def _text(value: Any, depth: int) -> str:
    kind = type(value)
    if depth and kind in _CONTAINERS:
        return _CONTAINERS[kind](value, depth - 1)
    if depth and _has_made_repr(kind):
        shown = {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if field.repr}
        return f"{kind.__qualname__}({', '.join(_named(shown, depth - 1))})"
    try:
        return without_addresses(repr(value))
    except Exception:  # noqa: BLE001 - a user's repr may raise anything, and the message about the value is due
        return f"<{kind.__qualname__} without a repr>"


def _texts(values: Iterable[Any], depth: int) -> list[str]:
    return [_text(one, depth) for one in values]


def _named(values: dict[str, Any], depth: int) -> list[str]:
    return [f"{name}={_text(one, depth)}" for name, one in values.items()]


def _of_tuple(value: tuple[Any, ...], depth: int) -> str:
    return f"({', '.join(_texts(value, depth))}{',' if len(value) == 1 else ''})"


def _of_dict(value: dict[Any, Any], depth: int) -> str:
    pairs = zip(_texts(value, depth), _texts(value.values(), depth), strict=True)
    return f"{{{', '.join([f'{key}: {item}' for key, item in pairs])}}}"


def _of_set(value: Iterable[Any], depth: int) -> str:
    return f"{{{', '.join(sorted(_texts(value, depth)))}}}" if value else "set()"


_CONTAINERS: Final[dict[type, Callable[[Any, int], str]]] = {
    list: lambda value, depth: f"[{', '.join(_texts(value, depth))}]",
    tuple: _of_tuple,
    dict: _of_dict,
    set: _of_set,
    SimpleNamespace: lambda value, depth: f"namespace({', '.join(_named(vars(value), depth))})",
    frozenset: lambda value, depth: f"frozenset({_of_set(value, depth) if value else ''})",
}


def _has_made_repr(kind: type) -> bool:
    """Returns whether a class is a dataclass whose repr was made by `dataclasses`."""
    own = vars(kind).get("__repr__")
    return dataclasses.is_dataclass(kind) and isinstance(own, FunctionType) and "__wrapped__" in vars(own)
