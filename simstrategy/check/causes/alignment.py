"""Puts the points of two runs side by side, step by step; a point that one run alone has stands beside None."""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import groupby
from typing import NamedTuple

from simstrategy.check.causes.combination import Combination, combine, differing
from simstrategy.check.causes.facts import PointFacts, Units

__all__ = ["Pair", "aligned", "paired"]

Key = tuple[str, str, str | None, int]


class Pair(NamedTuple):
    """One point of both runs.  one: at a scale of 1; of a point that one run alone has, None."""

    reference: PointFacts | None
    other: PointFacts | None
    one: Combination | None
    differs: bool
    """Whether values of equal shapes differ beyond rounding; kept values differ by their shapes too."""

    @property
    def step(self) -> int:
        """The step of the other run, or of the reference for a point that it alone has."""
        point = self.other or self.reference
        assert point is not None
        return point.step

    @property
    def place(self) -> tuple[str, str, str | None]:
        point = self.other or self.reference
        assert point is not None
        return point.site, point.what, point.subject


def aligned(
    reference: Sequence[PointFacts], other: Sequence[PointFacts], units: Units, counts: tuple[int, int]
) -> list[Pair]:
    """Returns the pairs of all points in the order of the other run."""
    found: list[Pair] = []
    expected = {step: list(group) for step, group in _by_step(enumerate(reference))}
    for step, group in _by_step(enumerate(other)):
        found += _aligned_step(expected.pop(step, []), list(group), units, counts)
    for rest in expected.values():
        found += [Pair(point, None, None, differs=False) for _, point in rest]
    return found


def _by_step(
    points: Iterator[tuple[int, PointFacts]],
) -> Iterator[tuple[tuple[int, int], Iterator[tuple[int, PointFacts]]]]:
    """Yields the points between two changes of the step, under the step and how often it came before.

    Results belong together, though one of the runs may have had more steps.
    """
    seen: dict[int, int] = {}
    for step, group in groupby(points, key=lambda pair: -1 if pair[1].what == "result" else pair[1].step):
        seen[step] = seen.get(step, 0) + 1
        yield (step, seen[step]), group


def _aligned_step(
    expected: list[tuple[int, PointFacts]],
    found: list[tuple[int, PointFacts]],
    units: Units,
    counts: tuple[int, int],
) -> Iterator[Pair]:
    left, right = [_key(point) for _, point in expected], [_key(point) for _, point in found]
    if left == right:
        blocks = [("equal", 0, len(left), 0, len(right))]
    else:
        matcher = SequenceMatcher(None, left, right, autojunk=False)
        blocks = [tuple(code) for code in matcher.get_opcodes()]  # type: ignore[misc]
    for tag, low, high, first, last in blocks:
        if tag == "equal":
            for (number, one), (_, two) in zip(expected[low:high], found[first:last], strict=True):
                yield paired(one, two, units[number] if number < len(units) else (), counts)
        else:
            yield from [Pair(point, None, None, differs=False) for _, point in expected[low:high]]
            yield from [Pair(None, point, None, differs=False) for _, point in found[first:last]]


def _key(point: PointFacts) -> Key:
    return point.site, point.what, point.subject, len(point.outputs)


def paired(reference: PointFacts, other: PointFacts, units: Sequence[float], counts: tuple[int, int]) -> Pair:
    """Makes the pair of one point of both runs.  units: of its outputs."""
    one = combine(reference, other, units, counts)
    if not one.expected and not one.found:
        return Pair(reference, other, one, differs=False)
    shapes = [leaf.shape for leaf in one.expected] == [leaf.shape for leaf in one.found]
    differs = bool(differing(one)) if shapes else other.kept
    return Pair(reference, other, one, differs)
