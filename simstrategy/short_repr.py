"""The text of a value in a message: short, and the same in every run.  No other formatting is done here."""

import dataclasses
import math
import re
from collections.abc import Callable, Iterable
from types import FunctionType, SimpleNamespace
from typing import Any, Final, Protocol, TypeVar, runtime_checkable

__all__ = ["error_notes", "error_text", "short_repr", "stable_repr", "without_addresses"]

V = TypeVar("V")
"""Anything that a message may show."""

_ADDRESS: Final = re.compile(r" at 0x[0-9A-Fa-f]+")
_DTYPE: Final = re.compile(r"(\w+)\W*$")
"""The name at the end of "torch.float32", and of "<dtype: 'float32'>"."""
_LENGTH_MAX: Final = 200
_DEPTH_MAX: Final = 10
_NUMBERS_MAX: Final = 32
"""Larger arrays are shown by dtype and shape alone."""


def without_addresses(text: str) -> str:
    """Returns a text without the memory addresses of objects, which differ from run to run.

    >>> without_addresses("<function f at 0x7f2a>")
    '<function f>'
    """
    return _ADDRESS.sub("", text)


def error_text(error: V) -> str:
    """Returns the text of an error or a note without addresses; of one that has none, a text that states it.

    >>> error_text(ValueError("bad <object object at 0x7f2a>"))
    'bad <object object>'
    """
    try:
        return without_addresses(str(error))
    except Exception as raised:  # noqa: BLE001 - of a user's class, whose text is to be shown
        return f"(its text cannot be shown: {type(raised).__name__})"


def error_notes(error: BaseException) -> tuple[str, ...]:
    """Returns the notes of an error as texts, also where a program has put something else in their place."""
    notes = vars(error).get("__notes__", ())
    return tuple(map(error_text, notes if isinstance(notes, (list, tuple)) else (notes,)))


def short_repr(value: V) -> str:
    """Returns `stable_repr` in at most 200 characters; what is left out is marked by an ellipsis.

    Arrays of a framework read alike on every backend: dtype, shape, and the numbers of a small one.

    >>> short_repr({"b", "a"})
    "a set of 'a', 'b'"
    """
    if isinstance(value, (set, frozenset)):
        text = f"a {type(value).__name__} of {_sorted(value, _DEPTH_MAX, _array_text)}"
    else:
        text = _text(value, _DEPTH_MAX, _array_text)
    return text if len(text) <= _LENGTH_MAX else text[: _LENGTH_MAX - 1] + "…"


def stable_repr(value: V) -> str:
    """Returns the repr of a value without what differs from run to run.

    Memory addresses are left out, and the elements of sets are sorted. Where a repr raises, the type is named.

    >>> stable_repr(iter(()))
    '<tuple_iterator object>'
    >>> stable_repr({"names": {"b", "a"}})
    "{'names': {'a', 'b'}}"
    """
    return _text(value, _DEPTH_MAX, _no_text)


_Arrays = Callable[[Any], "str | None"]
"""Returns the text of an array, and None for what is shown by its own repr."""


def _no_text(_value: Any) -> None:
    return None


@runtime_checkable
class _Array(Protocol):
    """What the arrays of all frameworks have."""

    dtype: Any
    shape: Any
    __array__: Any


@runtime_checkable
class _Listed(Protocol):
    """An array that makes lists of its numbers; TensorFlow's makes a NumPy array first."""

    def tolist(self) -> Any: ...


def _array_text(value: Any) -> str | None:
    """Returns the text of a framework's array by what all frameworks' arrays have; None for any other value."""
    try:
        if type(value).__module__ == "numpy" or not isinstance(value, _Array):
            return None
        shape, dtype = [int(one) for one in value.shape], _DTYPE.search(str(value.dtype))
    except Exception:  # noqa: BLE001 - an object of a user that only looks like an array
        return None
    form = f"{dtype[1] if dtype else value.dtype}{shape}"
    if math.prod(shape) > _NUMBERS_MAX:
        return form
    try:
        numbers = value.tolist() if isinstance(value, _Listed) else value.numpy().tolist()  # type: ignore[attr-defined]
    except Exception:  # noqa: BLE001 - an array without values: a framework traces
        return form
    return f"{form} {numbers!r}"


def _text(value: Any, depth: int, arrays: _Arrays) -> str:
    kind = type(value)
    if depth and kind in _CONTAINERS:
        return _CONTAINERS[kind](value, depth - 1, arrays)
    if depth and _has_made_repr(kind):
        shown = {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if field.repr}
        return f"{kind.__qualname__}({', '.join(_named(shown, depth - 1, arrays))})"
    text = arrays(value)
    if text is not None:
        return text
    try:
        return without_addresses(repr(value))
    except Exception:  # noqa: BLE001 - a user's repr may raise anything, and the message about the value is due
        return f"<{kind.__qualname__} without a repr>"


def _texts(values: Iterable[Any], depth: int, arrays: _Arrays) -> list[str]:
    return [_text(one, depth, arrays) for one in values]


def _sorted(values: Iterable[Any], depth: int, arrays: _Arrays) -> str:
    return ", ".join(sorted(_texts(values, depth, arrays)))


def _named(values: dict[str, Any], depth: int, arrays: _Arrays) -> list[str]:
    return [f"{name}={_text(one, depth, arrays)}" for name, one in values.items()]


def _of_tuple(value: tuple[Any, ...], depth: int, arrays: _Arrays) -> str:
    return f"({', '.join(_texts(value, depth, arrays))}{',' if len(value) == 1 else ''})"


def _of_dict(value: dict[Any, Any], depth: int, arrays: _Arrays) -> str:
    pairs = zip(_texts(value, depth, arrays), _texts(value.values(), depth, arrays), strict=True)
    return f"{{{', '.join([f'{key}: {item}' for key, item in pairs])}}}"


def _of_set(value: Iterable[Any], depth: int, arrays: _Arrays) -> str:
    return f"{{{_sorted(value, depth, arrays)}}}" if value else "set()"


def _of_frozenset(value: Iterable[Any], depth: int, arrays: _Arrays) -> str:
    return f"frozenset({_of_set(value, depth, arrays) if value else ''})"


def _of_namespace(value: SimpleNamespace, depth: int, arrays: _Arrays) -> str:
    return f"namespace({', '.join(_named(vars(value), depth, arrays))})"


_CONTAINERS: Final[dict[type, Callable[[Any, int, _Arrays], str]]] = {
    list: lambda value, depth, arrays: f"[{', '.join(_texts(value, depth, arrays))}]",
    tuple: _of_tuple,
    dict: _of_dict,
    set: _of_set,
    SimpleNamespace: _of_namespace,
    frozenset: _of_frozenset,
}


def _has_made_repr(kind: type) -> bool:
    """Returns whether a class is a dataclass whose repr was made by `dataclasses`."""
    own = vars(kind).get("__repr__")
    return dataclasses.is_dataclass(kind) and isinstance(own, FunctionType) and "__wrapped__" in vars(own)
