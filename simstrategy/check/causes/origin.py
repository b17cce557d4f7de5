"""Finds the point where two runs begin to differ, of those whose difference has an effect.

A sum of means that the program divides by the number of replicas later differs from the reference's, and is right. So
the search starts at the first value that the program keeps (a write to a variable, a result) and that differs, and goes
back from there: to a point whose values the kept one follows, as a multiple.
"""

from collections.abc import Sequence
from typing import NamedTuple

from simstrategy.check.causes.alignment import Pair
from simstrategy.check.causes.combination import combine, differing
from simstrategy.check.causes.effects import scale_of
from simstrategy.check.causes.experiments import Effects, effects_of
from simstrategy.check.causes.facts import PointFacts
from simstrategy.check.causes.following import followed, scales_of, shapes_of
from simstrategy.check.causes.kinds import recognised
from simstrategy.check.causes.named import Named
from simstrategy.check.causes.recurring import is_undone, recurs, same_factor, undone_factor
from simstrategy.check.causes.restoring import Experiment
from simstrategy.check.causes.rounding import all_alike
from simstrategy.check.causes.scene import Scene
from simstrategy.check.causes.sources import is_source, returned

__all__ = ["Origin", "origin_of"]


class Origin(NamedTuple):
    """scene: the point, with what the program multiplies its values by.  kept: the value that differs in the end.

    sure: whether no other point can be meant. followed: whether the kept value was seen to follow from this point: by
    the values of both runs, by an experiment, or in the program's code.
    """

    scene: Scene
    kept: Pair | None
    sure: bool
    followed: bool = True


def origin_of(
    pairs: Sequence[Pair],
    reference: Sequence[PointFacts],
    other: Sequence[PointFacts],
    counts: tuple[int, int],
    named: Named | None = None,
    restored: Experiment | None = None,
) -> Origin | None:
    """Returns where the difference begins; None where no recorded value that the program keeps differs.

    named: the named values of both runs, which show the effects of points that no kept value follows. restored: runs
    the other program again, which shows the effect of one point.
    """
    number = next((number for number, pair in enumerate(pairs) if pair.differs and _is_kept(pair)), None)
    if number is None:
        return _without_kept(pairs, reference, other, counts)
    kept = pairs[number]
    itself = _at(kept, kept, reference, other)
    window = pairs[_window(pairs, number) : number]
    explains_itself = _brings_own_values(kept) and recognised(itself.scene, exact=True) is not None
    shown = Effects(None, ()) if restored is None else effects_of(kept, window, pairs, counts, restored)
    if shown.begun is not None:
        return _at(_with_same_factor(pairs[:number], shown.begun), kept, reference, other)
    if explains_itself:
        return itself
    window = [pair for pair in window if all(pair is not one for one in shown.without)]
    return _by_values(itself, kept, window, pairs, counts, named)


def _by_values(
    itself: Origin,
    kept: Pair,
    window: Sequence[Pair],
    pairs: Sequence[Pair],
    counts: tuple[int, int],
    named: Named | None,
) -> Origin:
    """Returns the point in the window that the kept value follows by the values of both, or the kept value itself."""
    reference, other = itself.scene.reference, itself.scene.other
    before = pairs[: next(number for number, pair in enumerate(pairs) if pair is kept)]
    last = returned(window, kept.one) if kept.one is not None and kept.one.other.what == "result" else None
    if last is not None:
        window = [pair for pair in window if pair.other is not None and pair.other.step <= last.step]
    window = [pair for pair in window if _enters(pair, kept) is not False]
    candidates = [pair for pair in window if not _is_kept(pair) and (pair.differs or _has_other_shapes(pair))]
    linked = followed(kept, candidates, [pair for pair in window if is_source(pair)], before, counts)
    if linked is not None:
        pair, scale = linked
        begun = _with_same_factor(before, pair) if scale == 1.0 else pair
        return _at(begun, kept, reference, other, scale)
    left = [pair for pair in candidates if pair.differs and not is_undone(before, pair)]
    if not left:
        return itself._replace(sure=not candidates)
    sure = len({pair.place for pair in left}) == 1
    effect = None if sure or named is None else _first_effect(left, pairs, before, named)
    if effect is not None:
        return _at(effect[0], kept, reference, other, effect[1])
    same = [pair for pair in left if shapes_of(pair) & shapes_of(kept)]
    chosen = same[0] if same else left[0]
    return _at(chosen, kept, reference, other)._replace(sure=sure, followed=bool(_enters(chosen, kept)))


def _enters(pair: Pair, kept: Pair) -> bool | None:
    """Returns whether a kept value is computed from a point, as the program's code shows; None where it does not."""
    if pair.other is None or kept.other is None:
        return None
    return pair.other.into.get((kept.other.number, kept.other.subject))


def _without_kept(
    pairs: Sequence[Pair], reference: Sequence[PointFacts], other: Sequence[PointFacts], counts: tuple[int, int]
) -> Origin | None:
    """Returns the first point that differs and whose factor does not come again, where nothing kept is recorded."""
    different = [place for place, pair in enumerate(pairs) if pair.differs]
    if not different or any(_is_kept(pair) for pair in pairs):
        return None
    alone = (place for place in different if not recurs(pairs, place) and not is_undone(pairs[:place], pairs[place]))
    first = next(alone, different[0])
    returned_from = _returned(pairs, pairs[first].step, counts)
    if returned_from is not None:
        return _at(returned_from, None, reference, other)
    first = _first_constant(pairs, first)
    scale = 1 / (undone_factor(pairs[:first], pairs[first]) or 1.0)
    found = _at(pairs[first], None, reference, other, scale)
    if scale != 1.0 or recognised(found.scene) is not None:
        return found
    # One number shows no factor. What the same line computes of it, such as a gradient, may.
    place = pairs[first].step, pairs[first].place[0]
    here = [pair for pair in pairs[first + 1 :] if (pair.step, pair.place[0]) == place]
    same = [pair for pair in here if pair.differs and same_factor(pairs[first], pair)]
    later = [_at(pair, None, reference, other) for pair in same]
    return next((one for one in later if recognised(one.scene) is not None), found)


def _returned(pairs: Sequence[Pair], step: int, counts: tuple[int, int]) -> Pair | None:
    """Returns the point that a value follows which a step returns, where others that it returns agree.

    Points that only these follow have no effect, as what stages of a pipeline send each other.
    """
    here = [pair for pair in pairs if pair.step == step and pair.one is not None]
    ends = [pair for pair in here if pair.place[1] in ("assign", "return")]
    wrong = next((pair for pair in ends if pair.differs), None)
    if wrong is None or all(pair.differs for pair in ends):
        return None
    before = here[: next(number for number, pair in enumerate(here) if pair is wrong)]
    points = [pair for pair in before if pair.differs and all(pair is not end for end in ends)]
    linked = followed(wrong, points, [], [], counts)
    return None if linked is None or linked[1] != 1.0 else linked[0]


def _first_constant(pairs: Sequence[Pair], first: int) -> int:
    """Returns the number of the first point from which the differences go on by one factor, without a break.

    What depends on no state, as the gradient of a linear loss, differs by it in each step, though it has an effect.
    """
    for number in range(first - 1, -1, -1):
        pair = pairs[number]
        goes_on = pair.differs and pair.step == pairs[first].step and same_factor(pair, pairs[first])
        if not goes_on or not all(map(_is_array_of_a_line, (pair, pairs[first]))):
            break
        first = number
    return first


def _is_array_of_a_line(pair: Pair) -> bool:
    """Returns whether a point is an array that a line computes, not of one number, which is a multiple of any other."""
    one = pair.one
    return one is not None and not one.reference.inputs and all(leaf.size > 1 for leaf in one.expected)


def _at(
    pair: Pair, kept: Pair | None, reference: Sequence[PointFacts], other: Sequence[PointFacts], scale: float = 1.0
) -> Origin:
    one = pair.one
    assert one is not None
    if scale != 1.0:
        one = combine(one.reference, one.other, one.units, one.counts, scale)
    return Origin(Scene(one, reference, other, None if kept is None else kept.other), kept, sure=True)


def _with_same_factor(before: Sequence[Pair], pair: Pair) -> Pair:
    """Returns the first step's point of the same place and factor: its mistake is the same, though it had no effect."""
    if not is_undone(before, pair):
        return pair
    return next(one for one in before if one.differs and one.place == pair.place)


def _first_effect(
    left: Sequence[Pair], pairs: Sequence[Pair], before: Sequence[Pair], named: Named
) -> tuple[Pair, float] | None:
    """Returns the first point whose difference reaches a named value, and its scale; None if one before is unclear."""
    for pair in left:
        scale = scale_of(pair, pairs, scales_of(before, pair), named)
        if scale is None or pair.one is None:
            return None
        one = combine(pair.one.reference, pair.one.other, pair.one.units, pair.one.counts, scale)
        if differing(one):
            return pair, scale
    return None


def _has_other_shapes(pair: Pair) -> bool:
    one = pair.one
    return one is not None and [leaf.shape for leaf in one.expected] != [leaf.shape for leaf in one.found]


def _is_kept(pair: Pair) -> bool:
    return (pair.other or pair.reference).kept if pair.one is None else pair.one.other.kept  # type: ignore[union-attr]


def _brings_own_values(pair: Pair) -> bool:
    """Returns whether the replicas bring values of their own to a kept value, or each brings the reference's."""
    one = pair.one
    if one is None or not one.terms:
        return False
    if any(not term for term in one.terms):
        return True
    return one.differ_among_replicas or (
        bool(one.reference.inputs) and all_alike(one.reference.inputs[0], one.terms[0], one.units)
    )


def _window(pairs: Sequence[Pair], kept: int) -> int:
    """Returns the number of the first pair after the last agreeing write to the same subject."""
    subject = pairs[kept].place[2]
    for number in range(kept - 1, -1, -1):
        pair = pairs[number]
        if _is_kept(pair) and pair.place[2] == subject and not pair.differs:
            return number + 1
    return 0
