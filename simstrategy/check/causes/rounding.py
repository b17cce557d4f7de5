"""Decides whether two arrays are equal up to rounding, for all claims of an explanation."""

from collections.abc import Collection, Sequence
from typing import Any, Final

import numpy as np

from simstrategy.check.causes.facts import Host, Leaves, StepFacts
from simstrategy.check.compare import MARGIN
from simstrategy.check.distances import distances, is_float, one_unit
from simstrategy.device.perturbed import cancelled, largest_of
from simstrategy.trace import Recording

__all__ = ["alike", "all_alike", "cancels", "cancels_in", "total", "unit_of", "varies", "wide"]

_ULPS_MIN: Final = 80.0
"""Ulps of float32 or float64 that may always differ: other parts add in another order.  Clause: J-10"""


def allowed(unit: float, array: Host) -> float:
    """Returns by how much an array [any shape] may differ, relative to its largest element.

    unit: how far rounding moves it.
    """
    fine = array.dtype.name in ("float32", "float64", "complex64", "complex128")
    return max(MARGIN * max(unit, unit_of(array)), _ULPS_MIN * unit_of(array) if fine else 0.0)


def unit_of(array: Host) -> float:
    """Returns one ulp of 1 in an array's dtype [any shape]; 0 for what is no float."""
    if not is_float(array):
        return 0.0
    name: str = array.dtype.name
    return one_unit({"complex64": "float32", "complex128": "float64"}.get(name, name))


def wide(array: Any) -> Host:
    """Returns an array [any shape] in float64, or complex128."""
    host = np.asarray(array)
    return host.astype(np.complex128 if host.dtype.kind == "c" else np.float64)


def alike(expected: Host, found: Host, unit: float) -> bool:
    """Returns whether `found` is the expected array [any shape] up to rounding.

    unit: how far rounding moves it, relative to its largest element; see `allowed`. Arrays that are no floats are
    equal or are not.
    """
    if expected.shape != found.shape:
        return False
    if not is_float(expected):
        return bool(np.array_equal(wide(expected), wide(found)) if expected.dtype.kind in "biu" else False)
    bound = allowed(unit, expected)
    if (expected.dtype.kind == "c") != (found.dtype.kind == "c"):
        expected, found = expected.astype(np.complex128), found.astype(np.complex128)
    by_max, _ = distances(expected, found)
    return bool(by_max <= bound)


def all_alike(expected: Leaves, found: Leaves, units: tuple[float, ...]) -> bool:
    """Returns whether all leaves are alike.  units: of each leaf; those that are missing are 0."""
    known = (*units, *[0.0] * (len(expected) - len(units)))
    return len(expected) == len(found) and all(
        alike(one, other, unit) for one, other, unit in zip(expected, found, known, strict=False)
    )


def total(terms: tuple[Leaves, ...], weights: tuple[float, ...] | list[float]) -> Leaves:
    """Returns the weighted sum of the replicas' leaves, in float64; a term of weight 0 may be NaN."""
    pairs = [(term, weight) for term, weight in zip(terms, weights, strict=True) if weight]
    if not pairs:
        return tuple(np.zeros(leaf.shape) for leaf in terms[0])
    with np.errstate(all="ignore"):
        return tuple(
            np.asarray(sum(wide(term[leaf]) * weight for term, weight in pairs)) for leaf in range(len(pairs[0][0]))
        )


def varies(terms: tuple[Leaves, ...], units: tuple[float, ...]) -> bool:
    """Returns whether the replicas' values differ from each other, beyond rounding."""
    return not all(all_alike(terms[0], term, units) for term in terms[1:])


def cancels(steps: Sequence[StepFacts], but: Collection[str] = ()) -> bool:
    """Returns whether a gradient of some step has elements that may be what rounding leaves of terms that cancel.

    but: the names of parameters whose gradients are known to be none.
    """
    for step in steps:
        named = [pair for leaves in step.gradients for pair in zip(step.names, leaves, strict=True)]
        if _any_cancelled([leaf for name, leaf in named if name not in but], [leaf for _, leaf in named]):
            return True
    return False


def cancels_in(recording: Recording) -> bool:
    """Returns whether what replicas reduced has such elements at some point of a recording."""
    points = recording.points
    sums = [value.array for point in points for row in point.outputs for value in row if value.array is not None]
    terms = [value.array for point in points for row in point.inputs for value in row if value.array is not None]
    return _any_cancelled(sums, terms)


def _any_cancelled(sums: Sequence[Host], terms: Sequence[Host] = ()) -> bool:
    """Returns whether some of the sums […] have such elements, beside their own largest one or that of all arrays."""
    of_all = max(map(largest_of, (*sums, *terms)), default=0.0)
    return any(cancelled(one, beside=of_all).any() for one in sums)
