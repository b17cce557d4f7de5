"""Decides by experiments which of several points that differ has an effect on the first kept value that differs."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from simstrategy.check.causes.alignment import Pair, paired
from simstrategy.check.causes.facts import Host, PointFacts
from simstrategy.check.causes.restoring import Experiment, is_restorable
from simstrategy.check.causes.rounding import all_alike
from simstrategy.check.causes.sources import is_source, variants

__all__ = ["Effects", "effects_of"]

_RUNS_MAX: Final = 12
"""The most experiments for one cause."""


class Effects(NamedTuple):
    """What experiments show.

    begun: the first point of which the reference's result makes the kept value agree. without: those whose result does
    not change it.
    """

    begun: Pair | None
    without: tuple[Pair, ...]


def effects_of(
    kept: Pair, window: Sequence[Pair], pairs: Sequence[Pair], counts: tuple[int, int], restored: Experiment
) -> Effects:
    """Gives the reference's result to each point before a kept value that differs, one by one, until that agrees.

    window: the pairs before the kept one that may matter. pairs: all of them. counts: the numbers of replicas.
    """
    assert kept.one is not None
    without: list[Pair] = []
    tests = [one for pair in window for one in _tests(pair, counts)]
    for pair, number, leaves in tests[:_RUNS_MAX]:
        again = _again(kept, pairs, restored(number, leaves))
        if again is None or again.one is None:
            continue
        if not again.differs:
            return Effects(pair, tuple(without))
        if all_alike(kept.one.found, again.one.found, kept.one.units):
            without.append(pair)
    return Effects(None, tuple(without))


def _tests(pair: Pair, counts: tuple[int, int]) -> Iterator[tuple[Pair, int, Sequence[Host | None]]]:
    """Yields what can be tried at a point: what begins there, the number of the point, and its results."""
    if pair.one is None or pair.one.other.kept or not is_restorable(pair.one.other):
        return
    number = pair.one.other.number
    if pair.differs:
        yield pair, number, pair.one.expected
    if is_source(pair) and len(pair.one.reference.inputs) == 1:
        whole = pair.one.reference.inputs[0]
        found = [(variant, leaf) for way, variant, leaf in variants(pair, counts) if way == "first" and variant.differs]
        for variant, leaf in found:
            yield variant, number, [one if place == leaf else None for place, one in enumerate(whole)]
        if len(found) > 1:
            leaves = {leaf for _, leaf in found}
            together = [_together([facts(variant) for variant, _ in found]) for facts in (_reference, _other)]
            made = paired(together[0], together[1], (), counts)
            yield made, number, [one if place in leaves else None for place, one in enumerate(whole)]


def _reference(pair: Pair) -> PointFacts:
    assert pair.one is not None
    return pair.one.reference


def _other(pair: Pair) -> PointFacts:
    assert pair.one is not None
    return pair.one.other


def _together(points: Sequence[PointFacts]) -> PointFacts:
    """Returns points of one leaf each, of the same replicas, as one point of all their leaves."""
    inputs = [
        tuple([leaf for term in terms for leaf in term]) for terms in zip(*[p.inputs for p in points], strict=True)
    ]
    return points[0]._replace(inputs=tuple(inputs), outputs=tuple([point.outputs[0] for point in points]))


def _again(kept: Pair, pairs: Sequence[Pair], points: Sequence[PointFacts]) -> Pair | None:
    """Returns the kept value of another run; None where it is not there."""
    assert kept.one is not None
    key = _key(kept.one.other)
    alike = [pair.other for pair in pairs if pair.other is not None and _key(pair.other) == key]
    nth = next(number for number, point in enumerate(alike) if point is kept.one.other)
    same = [point for point in points if _key(point) == key]
    if nth >= len(same) or len(same[nth].outputs) != len(kept.one.expected):
        return None
    return paired(kept.one.reference, same[nth], kept.one.units, kept.one.counts)


def _key(point: PointFacts) -> tuple[int, str, str, str | None]:
    return point.step, point.site, point.what, point.subject
