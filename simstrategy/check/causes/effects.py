"""Decides by named values whether the difference of a point has an effect, and what the program multiplies it by.

What a program makes of a combined value often has a name: ``mean = total / count``. Such a value is the same on all
replicas, and follows from the point as a value follows that the program keeps.
"""

from collections.abc import Sequence

import numpy as np

from simstrategy.check.causes.alignment import Pair, paired
from simstrategy.check.causes.facts import Host, PointFacts
from simstrategy.check.causes.links import Link, link
from simstrategy.check.causes.named import Named
from simstrategy.check.causes.watching import NamedValue

__all__ = ["scale_of"]


def scale_of(pair: Pair, pairs: Sequence[Pair], scales: Sequence[float], named: Named) -> float | None:
    """Returns by what the program multiplies the values of a point, by the first value named after it; None if unclear.

    pairs: all points. scales: the numbers that are tried.
    """
    one = pair.one
    if one is None or one.counts[0] != 1 or one.other.number < 0:
        return None
    expected = _after(named.reference, one.reference, [other.reference for other in pairs])
    found = _after(named.other, one.other, [other.other for other in pairs])
    for place, value in expected.items():
        others = found.get(place, [])
        if len(value) != 1 or len(others) != one.replicas:
            continue
        if any(not np.array_equal(others[0], other, equal_nan=True) for other in others[1:]):
            continue
        facts = [PointFacts(0, "", "named", None, None, (), (array,), kept=True) for array in (value[0], others[0])]
        kept = paired(facts[0], facts[1], one.units, one.counts)
        for scale in scales:
            if link(kept, pair, scale) > Link.CHANGE:
                return scale
    return None


def _after(
    values: Sequence[NamedValue], point: PointFacts, points: Sequence[PointFacts | None]
) -> dict[tuple[str, str], list[Host]]:
    """Returns the values that each replica names between a point and the next one, by their places."""
    following = [other.number for other in points if other is not None and other.number > point.number]
    last = min(following, default=None)
    found: dict[tuple[str, str], list[Host]] = {}
    for one in values:
        if one.step == point.step and one.number > point.number and (last is None or one.number <= last):
            found.setdefault((one.site, one.name), []).append(one.value)
    return found
