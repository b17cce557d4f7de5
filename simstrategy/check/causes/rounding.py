"""Decides whether two arrays are equal up to rounding, for all claims of an explanation."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from simstrategy.check.causes.facts import Host, Leaves, StepFacts
from simstrategy.check.compare import MARGIN
from simstrategy.check.distances import distances, is_float, one_unit
from simstrategy.device.perturbed import LeftSums, cancelled, largest_of
from simstrategy.trace import Recording

__all__ = ["alike", "all_alike", "cancels", "cancels_in", "sizes_of_terms", "total", "unit_of", "varies", "wide"]

_ULPS_MIN: Final = 80.0
"""Ulps of float32 or float64 that may always differ: other parts add in another order.  Clause: J-10"""
_CANCELLED_MIN: Final = 8.0
"""By so much the largest term is larger than the sum, at the least, where terms cancel."""


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


def sizes_of_terms(steps: Sequence[StepFacts]) -> tuple[Mapping[str, float], ...]:
    """Returns for each step, by the name of a parameter, the size of the largest element that a replica computed.

    Only of parameters whose gradient is much smaller: terms that do not cancel are no larger scale. Where those
    of a step are not known, as of the first step of a parameter in no module, those of a later one count.
    """
    found: list[dict[str, float]] = [{} for _ in range(max((step.number for step in steps), default=0))]
    later: dict[str, float] = {}
    for step in reversed(steps):
        for place, name in enumerate(step.names):
            own = max([largest_of(leaves[place]) for leaves in step.terms], default=0.0)
            most = later[name] = own or later.get(name, 0.0)
            if most > _CANCELLED_MIN * max([largest_of(leaves[place]) for leaves in step.gradients], default=most):
                found[step.number - 1][name] = most
    return tuple(found) if any(found) else ()


def cancels(steps: Sequence[StepFacts], left: LeftSums) -> bool:
    """Returns whether a gradient of some step has elements that may be what rounding leaves of terms that cancel."""
    for step in steps:
        named = [pair for leaves in step.gradients for pair in zip(step.names, leaves, strict=True)]
        terms = left.of_step(step.number)
        of_all = max([*map(largest_of, (leaf for _, leaf in named)), *terms.values()], default=0.0)
        others = [(leaf, terms.get(name, 0.0)) for name, leaf in named if name not in left.true]
        if any(cancelled(leaf, beside=of_all, terms=size).any() for leaf, size in others):
            return True
    return False


def cancels_in(recording: Recording) -> bool:
    """Returns whether what replicas reduced has such elements at some point of a recording."""
    points = recording.points
    sums = [value.array for point in points for row in point.outputs for value in row if value.array is not None]
    terms = [value.array for point in points for row in point.inputs for value in row if value.array is not None]
    of_all = max(map(largest_of, (*sums, *terms)), default=0.0)
    return any(cancelled(one, beside=of_all).any() for one in sums)
