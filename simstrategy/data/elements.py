"""The elements of a pipeline: nests of NumPy arrays, their specs, and functions that stack and cut them.

Tuples and mappings are structure, lists are data, as in TensorFlow. Texts are arrays of NumPy's kinds S, U or
object; readers yield object arrays, because S loses trailing zero bytes. Ragged and sparse batches are values of a
framework: see `composites.py`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias, final

import numpy as np

from simstrategy import tree
from simstrategy.data.composites import CompositeSpec
from simstrategy.data.to_numpy import as_numpy
from simstrategy.device import default_dtype
from simstrategy.errors import InvalidArgument, InvalidType
from simstrategy.short_repr import short_repr

__all__ = [
    "Element",
    "ElementSpec",
    "Host",
    "Leaf",
    "Specs",
    "as_element",
    "as_leaf",
    "concatenate",
    "cut",
    "empty_of_spec",
    "has_scalars",
    "is_static",
    "leading_sizes",
    "spec_of",
    "stack",
    "texts_of",
]

Host = np.ndarray[Any, Any]
_NUMBERS: Final = "biufc"
_TEXTS: Final = "SUO"


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


def as_element(value: Any, where: str) -> Element:
    """Converts a user's value to a nest of read-only arrays; where: the name of the step, for the error message.

    Python numbers become int32 (int64 where one needs it), float32, complex64 or bool, as in TensorFlow 2.21.0;
    arrays keep their dtype.
    Raises InvalidType for a value that is no array, number or text, and InvalidArgument for ragged lists.
    """
    if type(value) is np.ndarray:
        return as_leaf(value, where)
    if isinstance(value, tuple):
        return tree.rebuild_sequence(type(value), [as_element(item, where) for item in value])
    if isinstance(value, Mapping):
        items = [as_element(item, where) for item in value.values()]
        return tree.rebuild_mapping(type(value), tuple(value), items)
    return as_leaf(value, where)


def as_leaf(value: Any, where: str) -> Host:
    """Converts one leaf of a nest to a read-only array: see `as_element`.  NumPy arrays are viewed, not copied."""
    if isinstance(value, (np.ndarray, np.generic)):
        array = np.asarray(value)
    elif value is None or isinstance(value, (set, frozenset)):
        raise InvalidType(
            f"{where} got {short_repr(value)}, which is no array. Elements are nests of arrays, numbers and texts."
        )
    elif isinstance(value, (bytes, str)):
        # An object array: NumPy's kind S would lose trailing zero bytes.
        array = np.array(value, dtype=object)
    else:
        array = _of_python(value, where)
    if array.dtype.kind not in _NUMBERS + _TEXTS and array.dtype.name != "bfloat16":
        raise InvalidType(
            f"{where} got a {type(value).__name__} of dtype {array.dtype}; elements are nests of arrays of numbers or "
            f"texts. Convert it first."
        )
    if array.dtype.kind == "O" and not _are_texts(array, value):
        raise InvalidType(
            f"{where} got a {type(value).__name__}: {short_repr(value)}, which NumPy can only hold as an object. "
            f"Elements are nests of arrays of numbers or texts: convert it first."
        )
    view = array.view()
    view.flags.writeable = False
    return view


def _of_python(value: Any, where: str) -> Host:
    array = as_numpy(value, where)
    if isinstance(value, (list, tuple, bool, int, float, complex)) and not _holds_arrays(value):
        if array.dtype.kind in "SU":
            # An object array, as above. A number among texts stays a number, which is then refused.
            return np.array(value, dtype=object)
        usual = default_dtype(array.dtype.kind)
        if usual == "int32" and array.size and (array.max() > 2**31 - 1 or array.min() < -(2**31)):
            return array
        return array if usual is None else array.astype(usual)
    return array


def _are_texts(array: Host, value: Any) -> bool:
    """Returns whether an object array holds texts; of a NumPy array from the user, only the first item is examined."""
    flat = array.reshape(-1)
    return all(isinstance(one, (bytes, str)) for one in (flat[:1] if isinstance(value, np.ndarray) else flat))


def _holds_arrays(value: Any) -> bool:
    """Returns whether a list holds arrays; their dtype was chosen by the user and is kept."""
    while isinstance(value, (list, tuple)) and value:
        value = value[0]
    return isinstance(value, (np.ndarray, np.generic))


def spec_of(element: Element) -> Specs:
    """Returns the nest of `ElementSpec` of an element, with all sizes."""

    def form(leaf: Leaf) -> ElementSpec:
        return ElementSpec(leaf.shape, _dtype_name(leaf.dtype))

    return tree.map_leaves(form, element)


def _dtype_name(dtype: np.dtype[Any]) -> str:
    return "string" if dtype.kind in _TEXTS else str(dtype.name)


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


def stack(rows: Sequence[Element], where: str) -> Element:
    """Stacks elements [...] to one element [rows, ...].

    Raises InvalidArgument for elements of different structure, shape or dtype.
    """
    return _joined(rows, where, np.stack, "stack")


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
    return parts[0] if len(parts) == 1 else _joined(parts, where, np.concatenate, "join")


def _joined(rows: Sequence[Element], where: str, join: Callable[..., Host], verb: str) -> Element:
    flat = [tree.flatten(row) for row in rows]
    structure = flat[0][1]
    other = next((found for _, found in flat if found != structure), structure)
    if other != structure:
        raise InvalidArgument(
            f"{where} cannot {verb} elements of different structure: {tree.describe(structure, [])} and "
            f"{tree.describe(other, [])}. All elements need the same containers and keys."
        )
    joined = []
    for column in zip(*(leaves for leaves, _ in flat), strict=True):
        _check_column(column, where, verb)
        if type(column[0]) is np.ndarray:
            array = join(column)
            array.flags.writeable = False
            joined.append(array)
        else:
            joined.append(column[0].joined(column))
    return tree.refill(rows[0], structure, joined)


def _check_column(column: Sequence[Host], where: str, verb: str) -> None:
    first, skipped = column[0], 0 if verb == "stack" else 1
    shape, dtype = first.shape[skipped:], first.dtype
    # A plain loop: it runs for every row of every batch.
    for leaf in column:
        if leaf.shape[skipped:] != shape:
            shapes = sorted({leaf.shape for leaf in column})
            raise InvalidArgument(
                f"{where} cannot {verb} rows of different shapes: {shapes}. Pad them to one shape first."
            )
        if leaf.dtype is not dtype and _dtype_name(leaf.dtype) != _dtype_name(dtype):
            names = sorted({_dtype_name(leaf.dtype) for leaf in column})
            raise InvalidArgument(
                f"{where} cannot {verb} rows of different dtypes: {names}. Convert them to one first."
            )
