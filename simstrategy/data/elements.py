"""The elements of a pipeline: nests of NumPy arrays, their specs, and functions that join and cut them.

Tuples and mappings are structure, lists are data, as in TensorFlow. Texts are arrays of NumPy's kinds S, U or
object; readers yield object arrays, because S loses trailing zero bytes. Ragged and sparse batches are values of a
framework: see `composites.py`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias, final

import numpy as np

from simstrategy import tree
from simstrategy.data.composites import CompositeSpec
from simstrategy.data.to_numpy import as_numpy
from simstrategy.device import is_python_data, python_array, refuse_masked
from simstrategy.device.host_data import can_change
from simstrategy.errors import InvalidArgument, InvalidType
from simstrategy.short_repr import short_repr

__all__ = [
    "TEXTS",
    "Element",
    "ElementSpec",
    "Host",
    "Leaf",
    "Specs",
    "as_element",
    "as_leaf",
    "concatenate",
    "cut",
    "dtype_name",
    "empty_of_spec",
    "has_scalars",
    "is_static",
    "leading_sizes",
    "spec_of",
    "texts_of",
]

Host = np.ndarray[Any, Any]
_NUMBERS: Final = "biufc"
TEXTS: Final = "SUO"
"""NumPy's kinds of texts."""


@final
@dataclass(frozen=True, slots=True, repr=False)
class ElementSpec:
    """The shape and dtype of one array of an element; None stands for a size that varies or is not known.

    >>> ElementSpec((None, 3), "float32")
    ElementSpec(shape=(None, 3), dtype='float32')
    """

    shape: tuple[int | None, ...]
    dtype: str
    """The Array API name, or "string"."""
    composite: CompositeSpec | None = None
    """How a ragged or sparse batch of a framework differs from an array; None for an array."""

    def __repr__(self) -> str:
        composite = "" if self.composite is None else f", composite={self.composite!r}"
        return f"ElementSpec(shape={self.shape!r}, dtype={self.dtype!r}{composite})"


class Leaf(Protocol):
    """What the arrays and the composite batches of elements have in common."""

    @property
    def shape(self) -> tuple[int | None, ...]: ...
    @property
    def ndim(self) -> int: ...
    @property
    def dtype(self) -> Any: ...
    def __len__(self) -> int: ...
    def __getitem__(self, rows: slice, /) -> "Leaf": ...


Element: TypeAlias = tree.Nest[Leaf]
Specs: TypeAlias = tree.Nest[ElementSpec]
"""The form of an element: a nest of the same containers."""


def as_element(value: Any, where: str, *, kept: bool = True) -> Element:
    """Converts a user's value to a nest of read-only arrays; where: the name of the step, for the error message.

    Python numbers become int32 (int64 where one needs it), float32, complex64 or bool, as in TensorFlow 2.21.0;
    arrays keep their dtype.
    kept: whether the element is used after the user's code goes on, which may then write to its arrays: those that
    can be written to are copied. Raises InvalidType for a value that is no array, number or text, and InvalidArgument
    for ragged lists. Clauses: D-17, V-7.
    """
    if type(value) is np.ndarray:
        return as_leaf(value, where, kept=kept)
    if isinstance(value, tuple):
        return tree.rebuild_sequence(type(value), [as_element(item, where, kept=kept) for item in value])
    if isinstance(value, Mapping):
        items = [as_element(item, where, kept=kept) for item in value.values()]
        return tree.rebuild_mapping(type(value), tuple(value), items)
    return as_leaf(value, where, kept=kept)


def as_leaf(value: Any, where: str, *, kept: bool = True) -> Host:
    """Converts one leaf of a nest to a read-only array: see `as_element`."""
    fresh = False
    if type(value) is np.ndarray:
        array = value
    elif isinstance(value, (np.ndarray, np.generic)):
        refuse_masked(value, where)
        array = np.asarray(value)
    elif value is None or isinstance(value, (set, frozenset)):
        raise InvalidType(
            f"{where} got {short_repr(value)}, which is no array. Elements are nests of arrays, numbers and texts."
        )
    elif isinstance(value, (bytes, str)):
        # An object array: NumPy's kind S would lose trailing zero bytes.
        array, fresh = np.array(value, dtype=object), True
    else:
        array, fresh = _of_python(value, where), is_python_data(value)
    if array.dtype.kind not in _NUMBERS + TEXTS and array.dtype.name != "bfloat16":
        raise InvalidType(
            f"{where} got a {type(value).__name__} of dtype {array.dtype}; elements are nests of arrays of numbers or "
            f"texts. Convert it first."
        )
    if array.dtype.kind == "O" and not _are_texts(array):
        raise InvalidType(
            f"{where} got a {type(value).__name__}: {short_repr(value)}, which NumPy can only hold as an object. "
            f"Elements are nests of arrays of numbers or texts: convert it first."
        )
    # Texts are copied in any case: on their way to the replicas no other copy is made of them.
    if not fresh and (kept or array.dtype.kind in TEXTS) and can_change(array):
        array, fresh = array.copy(), True
    frozen = array if fresh else array.view()
    frozen.flags.writeable = False
    return frozen


def _of_python(value: Any, where: str) -> Host:
    array = as_numpy(value, where)
    if not is_python_data(value):
        return array
    if array.dtype.kind in "SU":
        # An object array, as above. A number among texts stays a number, which is then refused.
        return np.array(value, dtype=object)
    return python_array(value, array, None, where)


def _are_texts(array: Host) -> bool:
    """Returns whether an object array holds nothing but texts."""
    return all(isinstance(one, (bytes, str)) for one in array.reshape(-1))


def spec_of(element: Element) -> Specs:
    """Returns the nest of `ElementSpec` of an element, with all sizes."""

    def form(leaf: Leaf) -> ElementSpec:
        return ElementSpec(leaf.shape, dtype_name(leaf.dtype))

    return tree.map_leaves(form, element)


def dtype_name(dtype: np.dtype[Any]) -> str:
    """Returns the Array API name, or "string"."""
    return "string" if dtype.kind in TEXTS else str(dtype.name)


def is_static(spec: Specs | None) -> bool:
    """Returns whether a nest of `ElementSpec` has no size that is None."""
    return all(size is not None for leaf in tree.flatten(spec)[0] for size in leaf.shape)


def has_scalars(nest: Element | Specs) -> bool:
    """Returns whether an element, or a nest of `ElementSpec`, has a leaf without dimensions, which cannot be empty."""
    return any(not leaf.shape for leaf in tree.flatten(nest)[0])


def empty_of_spec(spec: Specs) -> Element:
    """Returns an element of 0 rows for a nest of `ElementSpec`; other sizes that are None become 0 too."""

    def empty(leaf: ElementSpec) -> Leaf:
        if leaf.composite is not None:
            return leaf.composite.empty(leaf.shape, leaf.dtype)
        dtype = np.dtype(object) if leaf.dtype == "string" else np.dtype(leaf.dtype)
        return np.empty([0, *(size or 0 for size in leaf.shape[1:])], dtype)

    return tree.map_leaves(empty, spec)


def leading_sizes(element: Element) -> list[int]:
    """Returns the number of rows of every array of an element; each has at least one dimension."""
    return [len(leaf) for leaf in tree.flatten(element)[0]]


def cut(element: Element, start: int, stop: int) -> Element:
    """Returns the rows start to stop - 1 of every array of an element, as views."""

    def rows(leaf: Leaf) -> Leaf:
        return leaf[start:stop]

    return tree.map_leaves(rows, element)


def texts_of(texts: Sequence[bytes]) -> Host:
    """Returns an array [texts] of dtype object."""
    array = np.empty(len(texts), object)
    array[:] = texts
    array.flags.writeable = False
    return array


def concatenate(parts: Sequence[Element], where: str) -> Element:
    """Concatenates elements along their first dimension.

    Raises InvalidArgument for elements of different structure, dtype or shape of a row.
    """
    return parts[0] if len(parts) == 1 else _joined(parts, where)


def _joined(parts: Sequence[Element], where: str) -> Element:
    flat = [tree.flatten(part) for part in parts]
    structure = flat[0][1]
    other = next((found for _, found in flat if found != structure), structure)
    if other != structure:
        raise InvalidArgument(
            f"{where} cannot join elements of different structure: {tree.describe(structure, [])} and "
            f"{tree.describe(other, [])}. All elements need the same containers and keys."
        )
    joined = []
    for column in zip(*(leaves for leaves, _ in flat), strict=True):
        _check_column(column, where)
        if type(column[0]) is np.ndarray:
            array = np.concatenate(column)
            array.flags.writeable = False
            joined.append(array)
        else:
            joined.append(column[0].joined(column))
    return tree.refill(parts[0], structure, joined)


def _check_column(column: Sequence[Host], where: str) -> None:
    shape, dtype = column[0].shape[1:], column[0].dtype
    for leaf in column:
        if leaf.shape[1:] != shape:
            shapes = sorted({leaf.shape for leaf in column})
            raise InvalidArgument(
                f"{where} cannot join rows of different shapes: {shapes}. Pad them to one shape first."
            )
        if leaf.dtype is not dtype and dtype_name(leaf.dtype) != dtype_name(dtype):
            names = sorted({dtype_name(leaf.dtype) for leaf in column})
            raise InvalidArgument(f"{where} cannot join rows of different dtypes: {names}. Convert them to one first.")
