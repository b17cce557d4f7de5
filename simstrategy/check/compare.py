"""Measures the distance of two outcomes, and decides whether rounding explains it.

Two float arrays a and b have two distances: max |a - b| / max |a|, and the same with root mean squares.
Changing every input by one unit in the last place (ulp) changes each leaf of a result by some distance. Two
correct runs differ by no more than `MARGIN` times that, in both distances. Everything else (integers, texts, shapes,
dtypes, NaNs, errors) is equal or is not.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from simstrategy.check.outcome import Outcome

__all__ = ["MARGIN", "Comparison", "Sensitivity", "compare", "distances", "sensitivity", "smallest_step"]

MARGIN: Final = 5.0

Distance = tuple[float, float]
"""By the largest element, and by root mean square; both relative."""

Sensitivity = tuple[Distance, ...]
"""For each leaf: the distance that one ulp of every input makes in it, and at least one ulp of the leaf's dtype."""


class Comparison(NamedTuple):
    """equal_bits: all bits are equal. distance, one_ulp: of the leaf with the largest ratio of the two.

    problem: the first difference that rounding does not explain, as a sentence; None where there is none.
    """

    equal_bits: bool
    distance: float
    one_ulp: float
    problem: str | None


def sensitivity(reference: Outcome, nudged: Sequence[Outcome]) -> Sensitivity:
    """Returns the largest distances of each leaf between a run and its nudged runs."""
    found = [(_unit(leaf), _unit(leaf)) for _, leaf in reference.leaves]
    for other in nudged:
        for number, ((_, one), (_, moved)) in enumerate(zip(reference.leaves, other.leaves, strict=False)):
            if one.shape == moved.shape and one.dtype == moved.dtype:
                by_max, by_square = distances(one, moved)
                if np.isfinite(by_max):
                    found[number] = (max(found[number][0], by_max), max(found[number][1], by_square))
    return tuple(found)


def compare(reference: Outcome, other: Outcome, one_ulp: Sensitivity) -> Comparison:
    """Compares the values, variables and errors of two outcomes.  It does not compare traces."""
    if reference.error != other.error:
        return Comparison(False, np.inf, 0.0, f"errors differ: {_error(reference)} against {_error(other)}")
    if [path for path, _ in reference.leaves] != [path for path, _ in other.leaves]:
        return Comparison(False, np.inf, 0.0, _different_leaves(reference, other))
    equal, worst, unit = True, 0.0, 0.0
    for (path, one), (_, two), units in zip(reference.leaves, other.leaves, one_ulp, strict=True):
        if one.dtype.kind == two.dtype.kind == "U" and one.tobytes() != two.tobytes():
            return Comparison(False, np.inf, 0.0, f"{path}: {one!s} against {two!s}")
        if (one.shape, one.dtype) != (two.shape, two.dtype):
            forms = f"{one.dtype}{list(one.shape)} against {two.dtype}{list(two.shape)}"
            return Comparison(False, np.inf, 0.0, f"{path}: {forms}")
        if one.tobytes() == two.tobytes():
            continue
        equal = False
        for distance, bound in zip(distances(one, two), units, strict=True):
            if distance > MARGIN * bound:
                return Comparison(False, distance, bound, f"{path}: {_first_unequal(one, two, distance, bound)}")
            if distance * unit >= worst * bound:
                worst, unit = distance, bound
    return Comparison(equal, worst, unit, None)


def _is_float(array: np.ndarray[Any, Any]) -> bool:
    return array.dtype.kind in "fc" or array.dtype.name == "bfloat16"


def _unit(array: np.ndarray[Any, Any]) -> float:
    """Returns one ulp of 1 in the array's dtype, 0 for other dtypes than floats."""
    if not _is_float(array):
        return 0.0
    return 2.0**-7 if array.dtype.name == "bfloat16" else float(np.finfo(array.dtype).eps)


def distances(one: np.ndarray[Any, Any], two: np.ndarray[Any, Any]) -> Distance:
    """Returns how far two arrays of one shape [...] and dtype are apart: 0 for equal values.

    Infinity where NaNs, infinities or other dtypes than floats differ. Relative to `one`, or absolute where `one` is
    nothing but zeros.
    """
    if not _is_float(one):
        return (0.0, 0.0) if np.array_equal(one, two) else (np.inf, np.inf)
    wide = np.complex128 if one.dtype.kind == "c" else np.float64
    first, second = one.astype(wide), two.astype(wide)
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


def _first_unequal(one: np.ndarray[Any, Any], two: np.ndarray[Any, Any], distance: float, bound: float) -> str:
    """Describes the element that differs most; the first that differs, if it is a NaN, an infinity or no float."""
    unequal = np.asarray((one != two) & ~((one != one) & (two != two)))
    flat = int(np.argmax(unequal))
    if np.isfinite(distance) and _is_float(one):
        wide = np.complex128 if one.dtype.kind == "c" else np.float64
        flat = int(np.argmax(np.where(unequal, np.abs(one.astype(wide) - two.astype(wide)), -1.0)))
    index = tuple(int(i) for i in np.unravel_index(flat, one.shape))
    where = f"element {list(index)} is " if index else ""
    size = f"; {distance:.2g} apart ({smallest_step(bound)})" if np.isfinite(distance) else ""
    return f"{where}{one[index]!s} against {two[index]!s}{size}"


def smallest_step(one_ulp: float) -> str:
    """Returns the sentence that explains a sensitivity: how far one ulp of every input moves the result."""
    return f"changing each input by its smallest step changes the result by {one_ulp:.2g}, relative to its size"


def _error(outcome: Outcome) -> str:
    return "none" if outcome.error is None else f"{outcome.error[0]}({outcome.error[1]})"


def _different_leaves(reference: Outcome, other: Outcome) -> str:
    left, right = [path for path, _ in reference.leaves], [path for path, _ in other.leaves]
    missing = [path for path in left if path not in right]
    extra = [path for path in right if path not in left]
    return f"results have different structures: missing {missing[:3]}, not expected {extra[:3]}"
