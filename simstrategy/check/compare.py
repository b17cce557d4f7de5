"""How far two outcomes are apart, and what distance rounding explains.

The distance of two float arrays is max |a - b| / max |a|. Moving every input by one unit in the last
place moves a program's results by some distance; two honest runs differ by no more than `MARGIN` times
that. Everything else (integers, texts, shapes, dtypes, NaNs, errors) is equal or is not.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from simstrategy.check.outcome import Outcome

__all__ = ["MARGIN", "Comparison", "Sensitivity", "compare", "sensitivity"]

MARGIN: Final = 10.0

Sensitivity = dict[str, float]
"""By dtype: the distance that moving the inputs by one unit in the last place makes, at least one unit."""


class Comparison(NamedTuple):
    """equal_bits: nothing differs at all. distance, one_ulp: of the leaf with the largest ratio of the two.

    problem: the first difference that rounding does not explain, in words; None where there is none.
    """

    equal_bits: bool
    distance: float
    one_ulp: float
    problem: str | None


def sensitivity(reference: Outcome, nudged: Sequence[Outcome]) -> Sensitivity:
    """Returns the largest distance of each dtype's leaves between a run and its nudged runs."""
    found: Sensitivity = {}
    for other in nudged:
        for (_, one), (_, moved) in zip(reference.leaves, other.leaves, strict=False):
            if _is_float(one) and one.shape == moved.shape and one.size:
                unit = float(_finfo(one.dtype))
                found[one.dtype.name] = max(found.get(one.dtype.name, 0.0), _distance(one, moved), unit)
    return found


def compare(reference: Outcome, other: Outcome, one_ulp: Sensitivity) -> Comparison:
    """Compares the values, variables and errors of two outcomes; traces are compared elsewhere."""
    if reference.error != other.error:
        return Comparison(False, np.inf, 0.0, f"errors differ: {_error(reference)} against {_error(other)}")
    if [path for path, _ in reference.leaves] != [path for path, _ in other.leaves]:
        return Comparison(False, np.inf, 0.0, _different_leaves(reference, other))
    equal, worst, unit = True, 0.0, 0.0
    for (path, one), (_, two) in zip(reference.leaves, other.leaves, strict=True):
        if (one.shape, one.dtype) != (two.shape, two.dtype):
            forms = f"{one.dtype}{list(one.shape)} against {two.dtype}{list(two.shape)}"
            return Comparison(False, np.inf, 0.0, f"{path}: {forms}")
        if one.tobytes() == two.tobytes():
            continue
        equal = False
        distance = _distance(one, two)
        bound = one_ulp.get(one.dtype.name, float(_finfo(one.dtype)) if _is_float(one) else 0.0)
        if distance > MARGIN * bound:
            return Comparison(False, distance, bound, f"{path}: {_first_unequal(one, two, distance, bound)}")
        if bound and distance * unit >= worst * bound:
            worst, unit = distance, bound
    return Comparison(equal, worst, unit, None)


def _is_float(array: np.ndarray[Any, Any]) -> bool:
    return array.dtype.kind in "fc" or array.dtype.name == "bfloat16"


def _finfo(dtype: np.dtype[Any]) -> float:
    return 2.0**-7 if dtype.name == "bfloat16" else float(np.finfo(dtype).eps)


def _distance(one: np.ndarray[Any, Any], two: np.ndarray[Any, Any]) -> float:
    """Returns 0 for equal values, infinity where NaNs, infinities or anything but floats differ."""
    if not _is_float(one):
        return 0.0 if np.array_equal(one, two) else np.inf
    wide = np.complex128 if one.dtype.kind == "c" else np.float64
    first, second = one.astype(wide), two.astype(wide)
    finite = np.isfinite(first)
    if not np.array_equal(first[~finite], second[~finite], equal_nan=True) or not np.isfinite(second[finite]).all():
        return np.inf
    if not finite.any():
        return 0.0
    largest = float(np.abs(first[finite]).max())
    apart = float(np.abs(first[finite] - second[finite]).max())
    return apart / largest if largest else (0.0 if apart == 0.0 else np.inf)


def _first_unequal(one: np.ndarray[Any, Any], two: np.ndarray[Any, Any], distance: float, bound: float) -> str:
    index = tuple(int(i) for i in np.argwhere(np.asarray((one != two) & ~((one != one) & (two != two))))[0])
    where = f"element {list(index)} is " if index else ""
    size = f"; distance {distance:.2g}, one ulp of the inputs makes {bound:.2g}" if np.isfinite(distance) else ""
    return f"{where}{one[index]!s} against {two[index]!s}{size}"


def _error(outcome: Outcome) -> str:
    return "none" if outcome.error is None else f"{outcome.error[0]}({outcome.error[1]})"


def _different_leaves(reference: Outcome, other: Outcome) -> str:
    left, right = [path for path, _ in reference.leaves], [path for path, _ in other.leaves]
    missing = [path for path in left if path not in right]
    extra = [path for path in right if path not in left]
    return f"results have different structures: missing {missing[:3]}, not expected {extra[:3]}"
