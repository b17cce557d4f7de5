"""Values without a row for each example, which each replica has for itself: what of them is not the reference's."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from simstrategy.check.causes.facts import STATISTICS, Finding, Host
from simstrategy.check.causes.rounding import wide
from simstrategy.check.causes.row_order import Place

__all__ = ["first_uncombined", "own_number"]

_NEAR: Final = 1e-4
"""How far numbers may be apart, relatively: they were computed from a state that rounding has moved."""
_REMEDY: Final = "Compute it over the examples of all replicas, such as after a gather"


def own_number(rows: Place, before: Sequence[Place]) -> Finding | None:
    """Returns the first number of each replica's own, before rows that are the first to differ.

    before: the values before these, in order, whose rows are the reference's. A number is left out that combines to the
    reference's, as a sum, a mean, a largest or a smallest; that is whole, such as a count; and one that replica 0 has
    in common with the reference, such as a draw.  Clause: J-40.
    """
    for place in before:
        if _is_own(place, _sizes(before)):
            found = ", ".join(f"{float(one):.6g}" for one in place.found[:3])
            more = "" if len(place.found) <= 3 else ", …"
            reason = (
                f"each replica has its own {place.what}: {found}{more}, where the reference has "
                f"{float(place.expected):.6g}. The first recorded value that differs for the same "
                f"examples comes after it: {rows.what}"
            )
            return Finding(STATISTICS, reason, _REMEDY, source=place.site)
    return None


def first_uncombined(places: Sequence[Place]) -> Finding | None:
    """Returns the first value of one shape in both runs that no rule over the replicas makes the reference's.

    The rules are the sum, the mean, the largest and the smallest.  It shows a place, and no kind.  Clause: J-41.
    """
    sizes = _sizes(places)
    for place in places:
        if place.expected.dtype.kind != "f" or any(one.shape != place.expected.shape for one in place.found):
            continue
        expected, found = wide(place.expected), np.stack([wide(one) for one in place.found])
        if not np.isfinite(found).all() or not np.isfinite(expected).all() or _combines(expected, found, sizes):
            continue
        if _is_share(expected, found, sizes):
            continue
        reason = f"the first value of which the replicas' sum or mean is not the reference's is {place.what}"
        return Finding(None, reason, source=place.site)
    return None


def _combines(expected: Host, found: Host, sizes: Sequence[int]) -> bool:
    """Returns whether one rule over the replicas gives an array [...], or each has it.  found: [replicas, ...]."""
    lawful = [*found[:1], found.sum(axis=0), found.mean(axis=0), found.max(axis=0), found.min(axis=0)]
    if len(sizes) == len(found) and any(sizes):
        lawful.append(np.average(found, axis=0, weights=sizes))
    size = float(np.abs(expected).max(initial=0))
    return any(float(np.abs(expected - one).max(initial=0)) <= _NEAR * size for one in lawful)


def _is_share(expected: Host, found: Host, sizes: Sequence[int]) -> bool:
    """Returns whether each has one divided by a number of elements of its own examples, as a mean over them divides."""
    if expected.size != 1 or len(sizes) != len(found) or not all(sizes) or not (expected > 0).all():
        return False
    each = 1 / float(expected.reshape(-1)[0]) / sum(sizes)
    shares = [1 / (size * each) for size in sizes]
    whole = round(each) >= 1 and _near(each, round(each))
    return whole and all(_near(share, float(one.reshape(-1)[0])) for share, one in zip(shares, found, strict=True))


def _sizes(places: Sequence[Place]) -> list[int]:
    """Returns how many examples each replica has; [] where no value shows it."""
    for place in places:
        sizes = [len(one) if one.ndim else 0 for one in place.found]
        if place.expected.ndim and sum(sizes) == len(place.expected):
            return sizes
    return []


def _is_own(place: Place, sizes: Sequence[int]) -> bool:
    if any(one.shape or one.dtype.kind != "f" for one in (place.expected, *place.found)):
        return False
    expected = float(wide(place.expected))
    found = [float(wide(one)) for one in place.found]
    if not np.isfinite([expected, *found]).all() or all(number == round(number) for number in found):
        return False
    if all(_near(found[0], one) for one in found[1:]) or _near(expected, found[0]):
        return False
    return not _combines(np.asarray(expected), np.asarray(found), sizes)


def _near(one: float, other: float) -> bool:
    return abs(one - other) <= _NEAR * max(abs(one), abs(other))
