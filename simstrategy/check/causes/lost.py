"""Recognises values that a script drops: turns of a loop of which the last one counts, and rows that are cut off."""

from collections.abc import Iterator
from itertools import islice
from typing import Final

import numpy as np

from simstrategy.check.causes.facts import LOST, MISSING_SAMPLES, Finding, Host
from simstrategy.check.causes.held import Held, History, is_near, rows_of
from simstrategy.check.causes.rounding import wide
from simstrategy.check.causes.spots import Spot
from simstrategy.check.causes.standing import Values, all_near, combined, loops_of, turns_of

__all__ = ["by_lost_turns", "where_rows_are_lost"]

_PAIRS_MAX: Final = 8
_DIFFERENCES_MAX: Final = 8
_PARALLEL: Final = 1e-4
"""How near a difference has to be to a multiple of what is lost, relatively."""


def by_lost_turns(spot: Spot) -> Finding | None:
    """Recognises a value that follows from the last turn of a loop where the sum of all turns is meant.

    The proof: what is wrong in it is a multiple of what the other turns contribute.
    """
    turns = turns_of(spot.expected, spot.found)
    found = None if turns is None else _lost(spot, turns[0], exact=False)
    for pairs in () if found is not None else loops_of(spot.expected, spot.found):
        found = found or _lost(spot, pairs[0], exact=True)  # sums of several parameters, which take turns as well
    if found is None:
        return None
    one, count, rank = found
    where = f" on replica {rank}" if rank else ""
    reason = (
        f"only the last of the {count} values that {one.name!r} gets at {one.place} counts in it{where}, and what the "
        f"others bring is lost"
    )
    return Finding(LOST, reason, "Add the values of all turns")


def _lost(spot: Spot, pair: tuple[list[Values], list[Values]], *, exact: bool) -> tuple[Held, int, int] | None:
    """Returns the name of whose values the last one alone counts, how many there are, and on which replica.

    pair: the turns of both runs that belong together. exact: whether what is wrong has to be the very loss, and no
    other multiple of it.
    """
    for rank, difference in islice(_differences(*pair), _DIFFERENCES_MAX if exact else 1):
        last: tuple[Held, int, int] | None = None
        for expected, found in spot.both.values():
            together = (expected.times, found.times) == (spot.expected.times, spot.found.times)
            if found.first > spot.found.first or (exact and not together):
                continue
            for loop in loops_of(expected, found) if exact else [turns_of(expected, found) or []]:
                for before, now in loop[:_PAIRS_MAX]:
                    if len(now) > 1 and len(before) == 1 and _is_lost(difference, before[0], now, rank, exact=exact):
                        last = found.values[0][0], len(now), rank
        if last is not None:
            return last
    return None


def _is_lost(difference: Host, expected: Values, turns: list[Values], rank: int, *, exact: bool) -> bool:
    """Returns whether a difference is a multiple of what all turns but the last one bring to their sum."""
    source = [values[min(rank, len(values) - 1)] for values in turns]
    whole, rest = [combined([[leaves] for leaves in some], "sum", "sum") for some in (source, source[:-1])]
    wanted = expected[min(rank, len(expected) - 1)]
    if rest is None or len(rest) != 1 or not all_near(wanted, whole):
        return False
    return is_near(-wide(rest[0]), difference) if exact else _is_multiple(difference, rest[0])


def where_rows_are_lost(spot: Spot, finding: Finding) -> Held | None:
    """Returns what a function returns without rows that it held, if these are the rows that are missing."""
    if finding.kind != MISSING_SAMPLES:
        return None
    lost = _rows(spot.expected) - _rows(spot.found)
    run = spot.other[0]
    holding = [one for one in run if one.leaves and _of(one) & lost]
    for one in run:
        inside = [other for other in holding if other.frame == one.frame and other is not one]
        if one.name.endswith("()") and inside and not _of(one) & lost:
            return one
    return None


def _differences(expected: list[Values], found: list[Values]) -> Iterator[tuple[int, Host]]:
    """Yields the arrays that a replica has otherwise in its last turn, less the reference's, with the replica."""
    one, other = expected[-1], found[-1]
    if len(one) != len(other):
        return
    for rank, (before, now) in enumerate(zip(one, other, strict=True)):
        for left, right in zip(before, now, strict=False):
            if left.shape == right.shape and left.size > 1 and not is_near(left, right):
                yield rank, np.asarray(wide(right) - wide(left))


def _is_multiple(one: Host, other: Host) -> bool:
    if one.shape != other.shape or not other.any():
        return False
    k = float(np.sum(one * other)) / float(np.sum(other * other))
    return bool(k and np.abs(one - k * other).max() <= _PARALLEL * np.abs(one).max())


def _rows(history: History) -> set[tuple[float, ...]]:
    return set().union(*[_of(one) for values in history.values for one in values])


def _of(one: Held) -> set[tuple[float, ...]]:
    return {tuple(row) for row in np.round(rows_of(one.leaves), 5).tolist()}
