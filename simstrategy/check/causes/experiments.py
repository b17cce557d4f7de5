"""Decides by experiments which of several points that differ has an effect on the first kept value that differs."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from simstrategy.check.causes.alignment import Pair, paired
from simstrategy.check.causes.facts import PointFacts
from simstrategy.check.causes.restoring import Experiment, is_restorable
from simstrategy.check.causes.rounding import all_alike

__all__ = ["Effects", "effects_of"]

_RUNS_MAX: Final = 8
"""The most experiments for one cause."""


class Effects(NamedTuple):
    """begun: the first point of which the reference's result makes the kept value agree. without: those whose result
    does not change it.
    """

    begun: Pair | None
    without: tuple[Pair, ...]


def effects_of(kept: Pair, window: Sequence[Pair], pairs: Sequence[Pair], restored: Experiment) -> Effects:
    """Gives the reference's result to each point before a kept value that differs, one by one, until that agrees.

    window: the pairs before the kept one that may matter. pairs: all of them.
    """
    without: list[Pair] = []
    candidates = [pair for pair in window if pair.one is not None and pair.differs and is_restorable(pair.one.other)]
    for pair in candidates[:_RUNS_MAX]:
        again = _again(kept, pairs, restored, pair)
        if again is None:
            continue
        if not again.differs:
            return Effects(pair, tuple(without))
        assert again.one is not None
        assert kept.one is not None
        if all_alike(kept.one.found, again.one.found, kept.one.units):
            without.append(pair)
    return Effects(None, tuple(without))


def _again(kept: Pair, pairs: Sequence[Pair], restored: Experiment, given: Pair) -> Pair | None:
    """Returns the kept value in a run with the reference's result at one point; None where it is not there."""
    assert kept.one is not None
    assert given.one is not None
    points = restored({given.one.other.number: given.one.expected})
    key = _key(kept.one.other)
    alike = [pair.other for pair in pairs if pair.other is not None and _key(pair.other) == key]
    nth = next(number for number, point in enumerate(alike) if point is kept.one.other)
    same = [point for point in points if _key(point) == key]
    if nth >= len(same) or len(same[nth].outputs) != len(kept.one.expected):
        return None
    return paired(kept.one.reference, same[nth], kept.one.units, kept.one.counts)


def _key(point: PointFacts) -> tuple[int, str, str, str | None]:
    return point.step, point.site, point.what, point.subject
