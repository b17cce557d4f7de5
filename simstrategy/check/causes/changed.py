"""Recognises what replicas change in a value of their own before it is combined, by the names that hold it.

Such a function is no error where it gives the same for a sum as for its terms. Here it gives something else: the
replicas' values under one name are right, and what is made of them before they are combined is not.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from simstrategy.check.causes.combination import Combination
from simstrategy.check.causes.facts import FUNCTION, LOST, Finding, Host
from simstrategy.check.causes.rounding import allowed, wide
from simstrategy.check.causes.row_order import Place

__all__ = ["by_changed"]

_ELEMENTS_MIN: Final = 2
"""The fewest elements that show that a replica combines the very value of a name."""


def by_changed(one: Combination, places: Sequence[Place]) -> Finding | None:
    """Returns what shows that some replicas change a value before it is combined, and others do not.

    places: the named values before the point, in order. The last one counts of which a replica combines the very value,
    and another one, or the reference, something else.  Clause: J-76.
    """
    if one.rule is None or len(one.expected) != 1 or not one.is_elementwise or not one.differ_among_replicas:
        return None
    if one.expected[0].dtype.kind != "f" or one.expected[0].size < _ELEMENTS_MIN:
        return None
    for place in reversed(places):
        if any(
            value.shape != one.expected[0].shape or value.dtype.kind != "f" for value in (place.expected, *place.found)
        ):
            continue
        kept = [_is_same(one, value, term[0]) for value, term in zip(place.found, one.terms, strict=True)]
        whole_kept = _is_same(one, place.expected, _alone(one))
        if all(kept) and whole_kept:
            continue  # the name holds what is combined
        plain = [rank for rank, is_kept in enumerate(kept) if is_kept and place.found[rank].any()]
        if not plain:
            continue
        return _not_finite(one, place, kept) or _not_equal(one, place, kept)
    return None


_REMEDY: Final = "Combine the replicas' values first, and change the result"


def _not_finite(one: Combination, place: Place, kept: Sequence[bool]) -> Finding | None:
    """Describes values that are not finite and are replaced: in the reference, and on some replicas alone."""
    replaced = [rank for rank, value in enumerate(place.found) if not _is_finite(value)]
    if _is_finite(place.expected) or not _is_finite(_alone(one)) or not replaced:
        return None
    if any(kept[rank] or not _is_finite(one.terms[rank][0]) for rank in replaced):
        return None
    if not all(is_kept for rank, is_kept in enumerate(kept) if rank not in replaced):
        return None
    where = " and ".join([f"replica {rank}" for rank in replaced[:2]]) + (" and others" if len(replaced) > 2 else "")
    reason = (
        f"{place.what} is not finite on {where}, and is replaced there before the {one.rule}, while the values of the "
        f"other replicas count. With one replica, the whole value is not finite and is replaced"
    )
    return Finding(FUNCTION, reason, _REMEDY, source=place.site)


def _not_equal(one: Combination, place: Place, kept: Sequence[bool]) -> Finding | None:
    """Describes what replicas change in values under a name that combine to the reference's."""
    if not all(_is_finite(value) for value in (place.expected, *place.found)):
        return None
    total = np.add.reduce([wide(value) for value in place.found]) / (one.replicas if one.rule == "mean" else 1)
    if not _near(one, place.expected, total):
        return None
    changed = [rank for rank, is_kept in enumerate(kept) if not is_kept]
    if changed and not any(one.terms[rank][0].any() for rank in changed):
        return Finding(
            LOST,
            f"the {one.rule} of the replicas' {place.what} is the reference's value, but replica {changed[0]} combines "
            f"zeros in place of it",
            "Combine what all replicas have",
            also=(FUNCTION,),
            source=place.site,
        )
    if all(_is_same(one, value, place.expected) for value in place.found):
        return None  # a value of no part: one replica combines it by chance
    who = f"on replica {changed[0]}" if changed else "with one replica"
    reason = (
        f"the {one.rule} of the replicas' {place.what} is the reference's value, but {who} something else that was "
        f"made of it is combined"
    )
    return Finding(FUNCTION, reason, _REMEDY, source=place.site)


def _alone(one: Combination) -> Host:
    """Returns what the only replica of the reference combines: its value before anything that follows."""
    terms = one.reference.inputs
    return terms[0][0] if len(terms) == 1 and len(terms[0]) == 1 else one.expected[0]


def _is_same(one: Combination, value: Host, term: Host) -> bool:
    return value.shape == term.shape and (
        bool(np.array_equal(wide(value), wide(term), equal_nan=True)) or _near(one, value, term)
    )


def _near(one: Combination, value: Host, other: Host) -> bool:
    left, right = wide(value), wide(other)
    if not (np.isfinite(left).all() and np.isfinite(right).all()):
        return False
    size = float(np.abs(left).max(initial=0))
    return bool(np.abs(left - right).max(initial=0) <= allowed(one.units[0], one.expected[0]) * size)


def _is_finite(value: Host) -> bool:
    return bool(np.isfinite(wide(value)).all())
