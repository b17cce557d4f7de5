"""Rows of a value that replicas have for the reference's examples, and what they show where they are other ones."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from simstrategy.check.causes.clipping import of_bound
from simstrategy.check.causes.companions import is_line, is_moved
from simstrategy.check.causes.facts import STATISTICS, Finding, Host
from simstrategy.check.causes.rounding import wide
from simstrategy.check.causes.row_order import Place, counted, of_draws

__all__ = ["is_of_means", "near", "of_values"]

_NEAR: Final = 1e-4
"""How far rows may be apart, relatively: they were computed from a state that rounding has moved."""
_NORM_NEAR: Final = 1e-5
"""How near norms have to be that were scaled to one bound, relatively."""


def near(expected: Host, found: Host) -> bool:
    """Returns whether rows are the same, up to rounding."""
    left, right = wide(expected), wide(found)
    size = float(np.abs(left[np.isfinite(left)]).max(initial=0))
    with np.errstate(all="ignore"):
        return bool(np.array_equal(left, right, equal_nan=True) or np.abs(left - right).max() <= _NEAR * size)


def is_of_means(expected: Host, pairs: Sequence[tuple[Host, Host]]) -> bool:
    """Returns whether rows are what differentiation makes of a mean over each replica's part.

    They are the reference's, times the number of all rows, divided by that of the part. A mean of the replicas' values
    makes it right.
    """
    if expected.dtype.kind != "f" or len(pairs) < 2 or not all(len(one) for one, _ in pairs):
        return False
    return all(near(wide(one) * (len(expected) / len(other)), other) for one, other in pairs)


def of_values(place: Place, rows: Sequence[tuple[Host, Host]], before: Place | None, *, known: bool) -> Finding | None:
    """Compares the values of the same examples.  before: the value that the name had before.

    known: whether they are known to be the same examples.
    """
    pairs = [(wide(one), wide(other)) for one, other in rows]
    bound = _bound(pairs) if place.expected.dtype.kind == "f" else None
    if bound is not None:
        return of_bound(bound, float(np.linalg.norm(place.expected)), len(rows), place.what, place.site)
    if place.expected.dtype.kind == "f" and is_moved(pairs):
        reason = (
            f"on each replica {place.what} is the reference's value, shifted and scaled by numbers of that replica: it "
            f"depends on the other examples there"
        )
        return Finding(STATISTICS, reason, "Reduce the statistics over all replicas first", source=place.site)
    same = [near(one, other) for one, other in pairs if len(one)]
    if _is_stream(place.found):
        reason = f"{place.what} has the same values on all replicas, though their examples are others"
    elif before is not None and _is_changed_alike(place, before):
        reason = f"what changes {place.what} is the same on all replicas, row by row, though their examples are others"
    elif len(same) > 1 and same[0] and not all(same) and not is_line(*pairs[same.index(False)]):
        reason = f"{place.what} has the reference's values on replica 0, and others on replica {same.index(False)}"
        if not known:
            return Finding(None, f"{reason}; whether these are of the same examples is not known", source=place.site)
        remedy = "Draw for each example, or for the whole batch; what it depends on besides, take of all replicas"
        return of_draws(place, reason, remedy, (STATISTICS,))
    else:
        return None
    return of_draws(place, reason, "Draw for each example, or for the whole batch")


def _is_stream(values: Sequence[Host]) -> bool:
    """Returns whether all replicas have one series of rows, as far as each of them goes."""
    longest = max(values, key=len)
    return len(counted(longest)) > 1 and all(np.array_equal(longest[: len(one)], one) for one in values)


def _is_changed_alike(place: Place, before: Place) -> bool:
    """Returns whether the rows are those before, times or plus one series of rows, which the reference has as well."""
    values, olds = [[wide(one) for one in (each.expected, *each.found)] for each in (place, before)]
    if [one.shape for one in values] != [one.shape for one in olds]:
        return False
    with np.errstate(all="ignore"):
        for changes in (
            [new / old for new, old in zip(values, olds, strict=True)],
            list(map(np.subtract, values, olds)),
        ):
            rounded = [np.round(one, 4) for one in changes]
            finite = all(np.isfinite(one).all() for one in rounded)
            if finite and _is_stream(rounded) and any(one.std(axis=0).max(initial=0) > _NEAR for one in rounded):
                return True
    return False


def _bound(pairs: Sequence[tuple[Host, Host]]) -> float | None:
    """Returns the largest norm of the replicas' arrays, if two of different values have it and none are counts.

    pairs: of each replica the reference's rows and its own, which have to be multiples of them.
    """
    parts = [part for _, part in pairs]
    for expected, part in pairs:
        size = float(np.sum(expected * expected))
        if size and not near(part, expected * (float(np.sum(expected * part)) / size)):
            return None
    norms = [float(np.linalg.norm(part)) for part in parts]
    largest = max(norms)
    if not np.isfinite(norms).all() or not largest or any((part == np.round(part)).all() for part in parts):
        return None
    reached = [part for part, norm in zip(parts, norms, strict=True) if largest - norm <= _NORM_NEAR * largest]
    return largest if any(not np.array_equal(reached[0], one) for one in reached[1:]) else None
