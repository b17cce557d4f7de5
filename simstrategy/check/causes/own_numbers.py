"""Recognises a number that each replica computes of its own examples, before rows that follow from it differ."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from simstrategy.check.causes.facts import STATISTICS, Finding
from simstrategy.check.causes.rounding import wide
from simstrategy.check.causes.row_order import Place

__all__ = ["own_number"]

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
                f"{float(place.expected):.6g}. The first value that differs for the same examples comes after it: "
                f"{rows.what}"
            )
            return Finding(STATISTICS, reason, _REMEDY, source=place.site)
    return None


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
    lawful = [sum(found), sum(found) / len(found), max(found), min(found)]
    if len(sizes) == len(found) and sum(sizes):
        lawful.append(float(np.average(found, weights=sizes)))
    return not any(_near(expected, one) for one in lawful)


def _near(one: float, other: float) -> bool:
    return abs(one - other) <= _NEAR * max(abs(one), abs(other))
