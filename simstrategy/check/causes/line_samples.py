"""Rows that a name holds more often than in the reference, or that are missing."""

from collections import Counter
from collections.abc import Iterable
from itertools import chain
from typing import Final

import numpy as np

from simstrategy.check.causes.facts import DUPLICATED, MISSING_SAMPLES, Finding, Host
from simstrategy.check.causes.held import Held, History, companions, rows_of
from simstrategy.check.causes.rounding import wide
from simstrategy.check.causes.spots import Spot
from simstrategy.check.causes.standing import all_near

__all__ = ["by_samples"]

_DISTINCT_MIN: Final = 3
"""The fewest different rows by which examples are known again."""
_DIGITS: Final = 5


def by_samples(spot: Spot) -> Finding | None:
    """Recognises rows that come more often than in the reference, or that are missing."""
    dimensions = [leaf.ndim for leaf in spot.one.leaves]
    if dimensions == [0] or (0 in dimensions and any(dimensions)):  # a number beside rows is none of them
        return None
    expected, found = [_rows_of_ranks(history) for history in (spot.expected, spot.found)]
    if expected is None or found is None:
        return None
    size = max([float(np.abs(one[np.isfinite(one)]).max(initial=0)) for one in chain(*expected)]) or 1.0
    one, other = [_counted(chain(*side), size) for side in (expected, found)]
    is_known = len(one) >= _DISTINCT_MIN and other and set(other) <= set(one)
    if not is_known or len({other[row] / times for row, times in one.items()}) == 1:
        return None  # all of them may be there more often: in more turns, as of epochs
    if other - one:
        return _again((other - one).total(), (one - other).total(), spot)
    is_cut = other.total() * spot.counts[1] == one.total() * spot.counts[0] and len(spot.found.values) > len(found)
    held = map(_rows_at, companions(spot.other, 0, spot.found.values[0][0]).values() if is_cut else ())
    if is_cut and not any(each is not None and set(_counted([each], size)) >= set(one) for each in held):
        reason = f"all replicas hold the same rows of {spot.one.name!r}, where the reference has others too"
        return Finding(DUPLICATED, reason, "Give each replica a part of its own")
    return None if _are_padding(one - other, one) else _lost((one - other).total(), one.total(), spot)


def _again(again: int, lost: int, spot: Spot) -> Finding:
    rows = "1 of the rows" if again == 1 else f"{again} of the rows"
    reason = f"{rows} of {spot.one.name!r} {'is' if again == 1 else 'are'} there twice or more often"
    reason += f", and {lost} of the reference's are missing" if lost else ""
    return Finding(DUPLICATED, reason, "Use each example once")


def _lost(lost: int, of: int, spot: Spot) -> Finding:
    verb = "row is" if lost == 1 else "rows are"
    reason = f"{lost} {verb} missing of the {of} that {spot.one.name!r} has in the reference"
    return Finding(MISSING_SAMPLES, reason, "Keep all examples")


def _rows_of_ranks(history: History) -> list[list[Host]] | None:
    """Returns the rows of each replica, [rows, elements] for each time; once where all replicas have the same.

    None for values that are no rows: arrays of unlike lengths, whose rows have unlike lengths too.
    """
    found = []
    for values in history.values:
        rows = [one for one in map(_rows_at, values) if one is not None]
        if len(rows) < len(values):
            return None
        found.append(rows)
    return found[:1] if all(all_near(tuple(found[0]), tuple(other)) for other in found[1:]) else found


def _rows_at(one: Held) -> Host | None:
    """Returns the rows of a value, [rows, elements]; of a batch of several arrays each row is one of all of them."""
    leaves = [leaf for leaf in one.leaves if leaf.size]
    if len({leaf.shape[1:] for leaf in leaves}) > 1:
        if len({leaf.shape[:1] for leaf in leaves}) > 1:
            return None
        leaves = [np.hstack([wide(leaf).reshape(len(leaf), -1) for leaf in leaves])]
    return rows_of(tuple(leaves))


def _are_padding(lost: Counter[tuple[float, ...]], rows: Counter[tuple[float, ...]]) -> bool:
    """Returns whether rows that are missing may be padding: one row alone that is there several times."""
    return len(lost) == 1 and all(rows[row] > 1 for row in lost)


def _counted(some: Iterable[Host], size: float) -> Counter[tuple[float, ...]]:
    rounded = [np.round(rows / size, _DIGITS) + 0.0 for rows in some]
    return Counter(tuple(row) for rows in rounded for row in rows.tolist())
