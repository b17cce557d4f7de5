"""Measures how far two arrays are apart, and how far rounding moves one.

Two float arrays a and b have two distances: max |a - b| / max |a|, and the same with root mean squares. Both are
relative to the whole array: an element far below the largest one has no scale of its own there, since it may be what
is left of terms as large as that one. What a distance means is decided in `compare.py`; sums of which the terms are
known are examined element by element in `sums.py`.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

__all__ = [
    "LeafSensitivity",
    "distances",
    "element_gaps",
    "is_float",
    "one_unit",
    "parts",
    "same_bits",
    "scale",
    "sensitivity_of",
    "unequal_parts",
]

Host = np.ndarray[Any, Any]

Distance = tuple[float, float]
"""By the largest element, and by root mean square; both relative."""

_LONG_DOUBLES: Final = "gG"
_BFLOAT16_UNIT: Final = 2.0**-7


class LeafSensitivity(NamedTuple):
    """How far a leaf moves if every input moves by one ulp; at least one ulp of the dtype it was computed in.

    by_max, by_square: relative, as `distances`; infinite for a leaf without floats that moved. unit: one ulp of 1, and
    0 for a leaf without floats. measured_max, measured_square: how far the leaf was seen to move, without what is
    allowed in any case; None where no run was nudged.
    """

    by_max: float
    by_square: float
    unit: float = 0.0
    measured_max: float | None = None
    measured_square: float | None = None

    @property
    def pairs(self) -> tuple[tuple[float, float | None], tuple[float, float | None]]:
        """What may move the leaf and what did, by the largest element and by root mean square."""
        return ((self.by_max, self.measured_max), (self.by_square, self.measured_square))

    def in_scale(self, own: Distance, other: Distance) -> "LeafSensitivity":
        """Returns the same moves relative to another leaf.  own, other: the `scale` of both leaves."""
        if self.measured_max is None or self.measured_square is None:
            return self
        largest, mean = self.measured_max * own[0] / other[0], self.measured_square * own[1] / other[1]
        return self._replace(
            by_max=max(self.unit, largest), by_square=max(self.unit, mean), measured_max=largest, measured_square=mean
        )

    def at_least(self, unit: float) -> "LeafSensitivity":
        """Returns the sensitivity of a leaf that was computed with a coarser unit; a leaf without floats stays."""
        if not self.unit:
            return self
        by_max, by_square, own = [max(one, unit) for one in self[:3]]
        return self._replace(by_max=by_max, by_square=by_square, unit=own)


def is_float(array: Host) -> bool:
    """Returns whether an array holds floats, complex ones and bfloat16 included."""
    return array.dtype.kind in "fc" or array.dtype.name == "bfloat16"


def one_unit(dtype: str) -> float:
    """Returns one ulp of 1 in a dtype of floats, by its name."""
    return _BFLOAT16_UNIT if dtype == "bfloat16" else float(np.finfo(dtype).eps)


def same_bits(one: Host, two: Host) -> bool:
    """Returns whether two arrays [any shape] have one dtype, one shape and the same bits.

    Long doubles are compared as numbers: they have bytes that belong to none.
    """
    if (one.dtype, one.shape) != (two.dtype, two.shape):
        return False
    if one.dtype.char in _LONG_DOUBLES:
        return bool(np.array_equal(one, two, equal_nan=True))
    return bool(one.tobytes() == two.tobytes())


def distances(one: Host, two: Host) -> Distance:
    """Returns how far two arrays of one shape [...] and dtype are apart: 0 for equal values.

    Infinity where NaNs, infinities or other dtypes than floats differ; each part of a complex number counts alone.
    Relative to `one`, or absolute where `one` is nothing but zeros.
    """
    if not is_float(one):
        return (0.0, 0.0) if one.tobytes() == two.tobytes() else (np.inf, np.inf)
    first, second = parts(one), parts(two)
    finite = np.isfinite(first)
    if not np.array_equal(first[~finite], second[~finite], equal_nan=True) or not np.isfinite(second[finite]).all():
        return (np.inf, np.inf)
    sizes, gaps = np.abs(first[finite]), np.abs(first[finite] - second[finite])
    if not gaps.any():
        return (0.0, 0.0)
    if not sizes.any():
        # All zeros, so there is nothing to divide by: the distance is absolute.
        return (float(gaps.max()), float(np.sqrt(np.mean(gaps**2))))
    # Scaled by the largest first, so that squares neither overflow nor vanish.
    largest = float(sizes.max())
    by_square = np.sqrt(np.mean((gaps / largest) ** 2) / np.mean((sizes / largest) ** 2))
    return (float(gaps.max()) / largest, float(by_square))


def scale(leaf: Host) -> Distance:
    """Returns what `distances` of an array [...] of floats are relative to; ones where they are absolute.

    >>> scale(np.array([3.0, -4.0, 0.0, 0.0])), scale(np.zeros(2))
    ((4.0, 2.5), (1.0, 1.0))
    """
    sizes = np.abs(parts(leaf))
    sizes = sizes[np.isfinite(sizes)]
    largest = float(sizes.max(initial=0.0))
    if not largest:
        return (1.0, 1.0)
    return (largest, largest * float(np.sqrt(np.mean((sizes / largest) ** 2))))


def element_gaps(one: Host, two: Host) -> Host:
    """Returns the absolute differences [elements, parts] of two float arrays of one shape [...], 0 where not finite."""
    first, second = parts(one), parts(two)
    finite = np.isfinite(first) & np.isfinite(second)
    gaps: Host = np.abs(np.where(finite, first, 0.0) - np.where(finite, second, 0.0))
    return gaps


def unequal_parts(one: Host, two: Host) -> Host:
    """Returns where two float arrays of one shape [...] differ, as bool [elements, parts]; NaNs are equal."""
    first, second = parts(one), parts(two)
    unequal: Host = (first != second) & ~(np.isnan(first) & np.isnan(second))
    return unequal


def sensitivity_of(leaf: Host, computed: str, nudged: Sequence[Host]) -> LeafSensitivity:
    """Returns how far a leaf moves in nudged runs.

    leaf: [...]. computed: the dtype in which it was computed. nudged: the same leaf of each nudged run; one of another
    form, or that is not finite elsewhere, sets no bound.
    """
    if not is_float(leaf):
        moved = any(one.tobytes() != leaf.tobytes() or one.dtype != leaf.dtype for one in nudged)
        return LeafSensitivity(np.inf, np.inf) if moved else LeafSensitivity(0.0, 0.0)
    unit = one_unit(computed)
    moves = [distances(leaf, one) for one in nudged if one.shape == leaf.shape and one.dtype == leaf.dtype]
    finite = [move for move in moves if np.isfinite(move[0])]
    if not finite:
        return LeafSensitivity(unit, unit, unit)
    largest, mean = [max(parts) for parts in zip(*finite, strict=True)]
    return LeafSensitivity(max(unit, largest), max(unit, mean), unit, largest, mean)


def parts(array: Host) -> Host:
    """Returns a float array [...] as [elements, parts] of float64: one part, or the two of complex numbers."""
    if array.dtype.kind == "c":
        wide = np.ascontiguousarray(array.reshape(-1), np.complex128)
        return wide.view(np.float64).reshape(-1, 2)
    with np.errstate(invalid="ignore"):  # a NaN that signals stays a NaN
        return array.reshape(-1, 1).astype(np.float64)
