"""Takes the result of a program apart: its structure, and its leaves as arrays and texts on the host.

Lists, tuples, mappings, sets, distributed values, dataclasses and other objects with attributes are taken apart, down
to arrays, numbers and texts; a text is the whole of a value's `repr`, without addresses. Compares nothing.
"""

import dataclasses
import enum
import os
import re
import sys
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import PurePath
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, Final, NamedTuple

import numpy as np

from simstrategy import tree
from simstrategy.check.exempt import Exempt
from simstrategy.errors import InvalidArgument
from simstrategy.short_repr import without_addresses
from simstrategy.strategy import Variable
from simstrategy.values import DistributedValues

__all__ = ["Contents", "contents_of", "described_length", "is_distributed", "is_mirrored"]

Host = np.ndarray[Any, Any]

_ARRAY_KINDS: Final = "biufcUSMm"
_NUMBERS: Final = (bool, int, float, complex)
_SINGLE: Final = (*_NUMBERS, str, bytes, type(None), np.ndarray, np.generic)
_BUILT_IN: Final = (*_NUMBERS, str, bytes, np.ndarray, list, tuple, dict, set, frozenset, deque)
"""Types whose own value is compared, not the attributes that a class derived from them adds."""
_ONE_TEXT: Final = (enum.Enum, BaseException, os.PathLike, range)
"""Objects with attributes that are described by their `repr`."""

_NAMED: Final = (type, FunctionType, BuiltinFunctionType, MethodType)
"""Objects that are described by their names."""


_TOO_DEEP: Final = (
    "What the program returned is nested too deeply to be compared: containers or objects in each other, as in a long "
    "linked list. Return a flat list of what is in it."
)
_UNREADABLE: Final = (
    "What the program returned cannot be read: one of its objects raised {error}. Return numbers, texts, arrays, or "
    "containers of them."
)
_INSIDE: Final = "; return what is in it as numbers, texts, arrays, or containers of them"
_BY_NAME: Final = f"only its name is compared{_INSIDE}"
_BY_TEXT: Final = f"only its text is compared, in which objects stand as addresses{_INSIDE}"
_ITEMS_ALONE: Final = "the attributes of this {kind} are not compared, its value is; return them apart"


class Contents(NamedTuple):
    """structure: path and description of every container, in order. leaves: path and value of every leaf.

    on_host: the paths of leaves that were no arrays of the backend. exempt: path and reason of what no law compares.
    partly: path and reason of what is compared by a name or a text that is not the whole of it.
    """

    structure: list[tuple[str, str]]
    leaves: list[tuple[str, Host]]
    on_host: list[str]
    exempt: list[tuple[str, str]]
    partly: list[tuple[str, str]]

    @classmethod
    def none(cls) -> "Contents":
        """Returns the contents of no result."""
        return cls([], [], [], [], [])


def contents_of(
    value: Any, get: Callable[[Any], Host], array_types: tuple[type, ...], own: Callable[[Any], Any]
) -> Contents:
    """Takes a result apart.  get: copies an array of `array_types` to the host. own: unwraps a framework's view.

    Raises InvalidArgument for a result whose objects raise while they are read, and for one that is nested too deeply.
    """
    found = Contents.none()
    try:
        _Walk(found, get, array_types, own).visit(value, "result", ())
    except RecursionError:
        raise InvalidArgument(_TOO_DEEP) from None
    except Exception as error:
        raise InvalidArgument(_UNREADABLE.format(error=f"{type(error).__name__}: {error}")) from error
    return found


class _Walk(NamedTuple):
    """Collects what is in one result.  ancestors, in its methods: the containers around a value, outermost first."""

    found: Contents
    get: Callable[[Any], Host]
    array_types: tuple[type, ...]
    own: Callable[[Any], Any]

    def visit(self, value: Any, path: str, ancestors: tuple[Any, ...]) -> None:
        if type(value) is Exempt:
            self.found.exempt.append((path, value.reason))
            self.visit(value.value, path, ancestors)
        elif isinstance(self.own(value), Variable):
            # Its components are compared with the other variables; so are those of a framework's view of one.
            self.found.structure.append((path, "a variable"))
        elif isinstance(value, self.array_types):
            self.found.leaves.append((path, self.get(value)))
        elif isinstance(value, weakref.ReferenceType):
            self.found.structure.append((path, "a weak reference"))  # it keeps nothing: another object does
        elif any(value is one for one in ancestors):
            self.found.structure.append((path, "a container of itself"))
        else:
            if isinstance(value, _BUILT_IN) and _added_attributes(value):
                self.found.partly.append((path, _ITEMS_ALONE.format(kind=type(value).__qualname__)))
            if isinstance(value, _SINGLE):
                self._add_host(value, path, ancestors)
            else:
                self._take_apart(value, path, (*ancestors, value))

    def _take_apart(self, value: Any, path: str, inside: tuple[Any, ...]) -> None:
        """Visits the items of a container, the attributes of an object, or adds a text for what has neither."""
        name = type(value).__qualname__
        if isinstance(value, DistributedValues):
            self._visit_items(path, f"{name} of {len(value.values)}", value.values, " of local replica {}", inside)
        elif isinstance(value, (list, tuple, deque)):
            self._visit_items(path, f"{name} of {len(value)}", value, "[{}]", inside)
        elif isinstance(value, (set, frozenset)):
            items = sorted(value, key=lambda item: (type(item).__qualname__, _text(item)))
            self._visit_items(path, f"{name} of {len(items)}", items, " item {}", inside)
        elif not tree.is_leaf(value):
            keys = tree.sorted_keys(value)
            texts = [_text(key) for key in keys]
            self.found.structure.append((path, f"{name} with keys [{', '.join(texts)}]"))
            for key, text in zip(keys, texts, strict=True):
                if not isinstance(key, (*_SINGLE, *_ONE_TEXT, *_NAMED, tuple, frozenset)):
                    self.visit(key, f"{path} key {text}", inside)
                self.visit(value[key], f"{path}[{text}]", inside)
        elif any("__array__" in vars(base) for base in type(value).__mro__):
            self._add_host(np.asarray(value), path, inside)
        else:
            attributes = _attributes(value)
            if attributes:
                self.found.structure.append((path, f"{name} with {', '.join(attributes)}"))
                for attribute, item in attributes.items():
                    self.visit(item, f"{path}.{attribute}", inside)
            else:
                self._add_text(value, path)

    def _visit_items(self, path: str, kind: str, items: Sequence[Any], form: str, inside: tuple[Any, ...]) -> None:
        self.found.structure.append((path, kind))
        for index, item in enumerate(items):
            self.visit(item, path + form.format(index), inside)

    def _add_host(self, value: Any, path: str, ancestors: tuple[Any, ...]) -> None:
        """Adds a number, a text or a NumPy array; the items of an array of objects, and the fields of records."""
        if isinstance(value, np.ma.MaskedArray) and value.dtype.kind in "biufc":
            self.found.structure.append((path, "MaskedArray"))
            self._add_host(np.ma.getmaskarray(value), f"{path}.mask", ancestors)
            self._add_host(np.where(np.ma.getmaskarray(value), value.dtype.type(), value.data), path, ancestors)
            return
        is_text = isinstance(value, (str, bytes, type(None)))
        array = np.asarray(_text(value)) if is_text else np.asarray(value)
        if array.dtype.kind in _ARRAY_KINDS or array.dtype.name == "bfloat16":
            self.found.leaves.append((path, array))
            self.found.on_host.append(path)
        elif array.dtype.names:
            self.found.structure.append((path, f"records {list(array.shape)} of {', '.join(array.dtype.names)}"))
            for field in array.dtype.names:
                self._add_host(array[field], f"{path}[{field!r}]", ancestors)
        elif array.dtype == object and isinstance(value, np.ndarray) and not any(value is one for one in ancestors):
            self.found.structure.append((path, f"objects {list(array.shape)}"))
            for index in np.ndindex(array.shape):
                self.visit(array[index], f"{path}{list(index)}", (*ancestors, value))
        else:
            self._add_text(value, path)

    def _add_text(self, value: Any, path: str) -> None:
        """Adds a text for a value, with the reason where it is not the whole value."""
        self.found.leaves.append((path, np.asarray(_text(value))))
        reason = _left_out_by_text(value)
        if reason is not None:
            self.found.partly.append((path, reason))


_LENGTH: Final = re.compile(r"(\w+) of (\d+)")
_MIRRORED: Final = "Mirrored"
_DISTRIBUTED: Final = ("PerReplica", _MIRRORED)


def described_length(text: str) -> tuple[str, int] | None:
    """Returns type and length of a container that is described as in "list of 3"; None for another description.

    >>> described_length("list of 3"), described_length("dict with keys ['a']")
    (('list', 3), None)
    """
    found = _LENGTH.fullmatch(text)
    return None if found is None else (found[1], int(found[2]))


def is_distributed(text: str) -> bool:
    """Returns whether a description is that of a value with a component for each replica."""
    found = described_length(text)
    return found is not None and found[0] in _DISTRIBUTED


def is_mirrored(text: str) -> bool:
    """Returns whether a description is that of a value whose components are equal."""
    found = described_length(text)
    return found is not None and found[0] == _MIRRORED


def _attributes(value: Any) -> dict[str, Any]:
    """Returns the attributes of an object by name, in sorted order; {} for one that its text describes."""
    kind = type(value)
    if dataclasses.is_dataclass(value):
        return {one.name: getattr(value, one.name) for one in dataclasses.fields(value)}
    if isinstance(value, (*_ONE_TEXT, *_NAMED, ModuleType)) or kind.__module__.partition(".")[0] == "simstrategy":
        return {}
    state = object.__getstate__(value)
    parts = state if isinstance(state, tuple) else (state,)  # of the instance, and of its slots
    found = {name: item for part in parts for name, item in (part or {}).items()}
    return {name: found[name] for name in sorted(found)}


def _added_attributes(value: Any) -> bool:
    """Returns whether a value of a class derived from a built-in one has attributes of its own."""
    kind = type(value)
    if kind.__dictoffset__ == 0 or isinstance(value, (enum.Enum, np.ma.MaskedArray)):
        return False
    return kind.__module__.partition(".")[0] != "numpy" and bool(vars(value))


def _text(value: Any) -> str:
    """Returns a value's whole `repr` without addresses, or a name for what has one."""
    if isinstance(value, _NAMED):
        return value.__qualname__
    if _is_ours(value):
        return type(value).__qualname__
    return without_addresses(_repr(value))


def _left_out_by_text(value: Any) -> str | None:
    """Returns why the text of a value is not the whole of it; None where it is."""
    if isinstance(value, FunctionType):
        return _BY_NAME if value.__closure__ or value.__defaults__ or value.__kwdefaults__ else None
    if isinstance(value, (BuiltinFunctionType, MethodType)):
        return None if isinstance(value.__self__, (ModuleType, type(None))) else _BY_NAME
    if isinstance(value, (type, ModuleType)):
        return None
    if _is_ours(value):
        return _BY_NAME
    text = _repr(value)
    return None if without_addresses(text) == text else _BY_TEXT


def _is_ours(value: Any) -> bool:
    return type(value).__module__.partition(".")[0] == "simstrategy" and not isinstance(value, enum.Enum)


_SHOWN: Final = (enum.Enum, str, bytes, BaseException, PurePath)
"""Types that show their value in their `repr`; a derived class may hide it by one of its own."""


def _defined_repr(kind: type) -> object:
    return next(vars(base)["__repr__"] for base in kind.__mro__ if "__repr__" in vars(base))


def _repr(value: Any) -> str:
    kind = type(value)
    own = next((one for one in _SHOWN if isinstance(value, one)), None)
    try:
        if own is not None and _defined_repr(kind) is not _defined_repr(own):
            text = own.__repr__(value)
            return text if text.startswith(kind.__qualname__) else f"{kind.__qualname__}({text})"
        with np.printoptions(threshold=sys.maxsize):
            return repr(value)
    except Exception as error:  # noqa: BLE001 - the user's function, which may raise anything
        return f"{type(value).__qualname__}, whose repr raises {type(error).__name__}"
