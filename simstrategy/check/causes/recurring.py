"""Differences that come again in the next step by the same factor: they had no effect on it.

A line that makes several points in a step makes the same ones, in the same order, in the next.
"""

from collections.abc import Sequence
from typing import Final

from simstrategy.check.causes.alignment import Pair
from simstrategy.check.causes.factor import factor_of

__all__ = ["is_undone", "recurs", "same_factor", "undone_factor"]

_FACTOR_NEAR: Final = 1e-3
"""How near the factors of two steps have to be to be one factor."""


def undone_factor(before: Sequence[Pair], pair: Pair) -> float | None:
    """Returns the factor by which this place differed in earlier steps, all of them without an effect."""
    earlier = [one for one in before if one.differs and one.place == pair.place and one.step < pair.step]
    factors = [_factor(one) for one in earlier if one.one is not None]
    known = [k for k in factors if k]
    if not known or len(known) < len(factors) or any(not _near(k, known[0]) for k in known):
        return None
    return known[0]


def recurs(pairs: Sequence[Pair], place: int) -> bool:
    """Returns whether a point differs by the same factor in the next step: then the difference had no effect."""
    pair = pairs[place]
    same = [one for one in pairs if one.place == pair.place]
    turn = next(place for place, one in enumerate([x for x in same if x.step == pair.step]) if one is pair)
    after = min([one.step for one in same if one.step > pair.step], default=None)
    later = [one for one in same if one.step == after]
    return turn < len(later) and same_factor(pair, later[turn])


def is_undone(before: Sequence[Pair], pair: Pair) -> bool:
    """Returns whether the difference of a point is the one that had no effect in earlier steps."""
    undone, k = undone_factor(before, pair), _factor(pair)
    return undone is not None and k is not None and _near(k, undone)


def same_factor(pair: Pair, other: Pair) -> bool:
    """Returns whether two points differ by one factor each, and by the same."""
    k, again = _factor(pair), _factor(other)
    return k is not None and again is not None and again != 0 and _near(k, again)


def _factor(pair: Pair) -> float | None:
    return None if pair.one is None else factor_of(pair.one.expected, pair.one.found, pair.one.units)


def _near(k: float, other: float) -> bool:
    return abs(k / other - 1) <= _FACTOR_NEAR
