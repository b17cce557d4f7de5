"""The ranks' arrays of one form as one array, and back: stacked, or one array where all are the same memory."""

import operator
from collections.abc import Hashable, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from simstrategy.device.host_data import can_change
from simstrategy.sim.arrays import Host, SimArray, seal, view
from simstrategy.values import Parts

__all__ = ["Arrays", "Kinds", "Rows", "rows_of"]

Arrays = tuple[SimArray, ...]
Kinds = tuple[type[SimArray], ...]
"""The array class of each rank."""
_as_vector: Final = operator.methodcaller("reshape", 1)


@final
class Rows:
    """One array of all ranks, [ranks, ...] where they are stacked, else the one [...] that all share: `Parts`.

    whole: read-only. arrays: the ranks' arrays, where they exist already. is_fixed: nothing writes to these.
    """

    __slots__ = ("_arrays", "_kinds", "form", "is_fixed", "is_stacked", "whole")

    def __init__(
        self, whole: SimArray, kinds: Kinds, arrays: Arrays | None = None, *, is_stacked: bool, is_fixed: bool = True
    ) -> None:
        self.whole = whole
        self.is_stacked = is_stacked
        self.is_fixed = is_fixed
        self._kinds = kinds
        self._arrays = arrays
        self.form: Hashable = (whole.shape, whole.dtype, kinds[0], is_stacked)
        """Of all arrays: their shape and dtype, the first one's device, and whether they are stacked."""

    @property
    def arrays(self) -> Arrays:
        """The ranks' arrays [...], in rank order; they are read-only."""
        found = self._arrays
        if found is None:
            found = self._arrays = self._parts()
        return found

    def are(self, arrays: Arrays) -> bool:
        """Returns whether these objects are the ranks' arrays [...]."""
        own = self._arrays
        return own is not None and (own is arrays or (own[0] is arrays[0] and all(map(operator.is_, own, arrays))))

    def _parts(self) -> Arrays:
        plain = view(self.whole, np.ndarray)
        if not self.is_stacked:
            return tuple(map(plain.view, self._kinds))
        rows = [row.reshape(()) for row in plain.reshape(-1, 1)] if plain.ndim == 1 else list(plain)
        return tuple(map(view, rows, self._kinds))


def rows_of(given: Arrays | Parts, known: Sequence[Rows], kinds: Kinds) -> Rows:
    """Returns one array of the ranks' arrays [...], of one form: a known one where they are its parts.

    Arrays that are equal to the bit are one: what is computed of them is computed once.
    """
    if isinstance(given, Rows):
        return given
    arrays: Arrays = given if isinstance(given, tuple) else given.arrays
    for one in known:
        if one.are(arrays):
            return one
    is_fixed = not any(map(can_change, arrays))
    if is_fixed and _are_one(arrays):
        return Rows(arrays[0], kinds, arrays, is_stacked=False)
    whole = _stacked(arrays)
    if _has_equal_rows(whole):
        whole = whole[0, ...].copy(order="K")
        seal(whole)
        return Rows(view(whole, kinds[0]), kinds, arrays, is_stacked=False, is_fixed=is_fixed)
    seal(whole)
    return Rows(view(whole, kinds[0]), kinds, arrays, is_stacked=True, is_fixed=is_fixed)


def _are_one(arrays: Arrays) -> bool:
    """Returns whether all arrays are the same memory, which holds nothing else."""
    first = arrays[0]
    base = first.base
    if len(arrays) == 1 or base is None or base.size != first.size:
        return False
    form, strides = first.shape, first.strides
    return all(one.base is base and one.shape == form and one.strides == strides for one in arrays)


def _has_equal_rows(whole: Host) -> bool:
    """Returns whether all rows [ranks, ...] have the same bits, as those of a variable have mostly."""
    count = len(whole)
    rows = whole.reshape(count, -1).view(np.uint8) if whole.size else whole.reshape(count, 0)
    return count > 1 and np.array_equal(rows[0], rows[1]) and bool((rows == rows[0]).all())


def _stacked(arrays: Arrays) -> Host:
    """Returns the arrays [...] as one, [ranks, ...], each laid out as the first: sums add in the order of memory."""
    first = view(arrays[0], np.ndarray)
    # Plain arrays: NumPy joins arrays of at most 64 classes.
    plain: Any = map(view, arrays, repeat(np.ndarray))
    if not first.ndim:
        return np.concatenate(list(map(_as_vector, plain)))
    if first.flags.c_contiguous:
        return _joined(list(plain), first.shape)
    strides = np.empty_like(first).strides
    order = sorted(range(first.ndim), key=lambda axis: -strides[axis])  # from the outermost axis in memory
    joined = _joined([one.transpose(order) for one in plain], first.transpose(order).shape)
    return joined.transpose(0, *[1 + order.index(axis) for axis in range(first.ndim)])


def _joined(arrays: Sequence[Host], shape: tuple[int, ...]) -> Host:
    """Returns arrays of a shape [n, ...] as one in C order, [ranks, n, ...]."""
    count = len(arrays)
    joined: Host = np.empty((count * shape[0], *shape[1:]), arrays[0].dtype)
    np.concatenate(arrays, out=joined)
    return joined.reshape((count, *shape))


if TYPE_CHECKING:
    _: type[Parts] = Rows
