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
from simstrategy.check.causes.kinds import recognised
from simstrategy.check.causes.links import Link, link
from simstrategy.check.causes.named import Named
from simstrategy.check.causes.recurring import is_undone, recurs, same_factor, undone_factor
from simstrategy.check.causes.restoring import Experiment
from simstrategy.check.causes.rounding import all_alike
from simstrategy.check.causes.scene import Scene
from simstrategy.check.causes.sources import is_source, returned, variants

__all__ = ["Origin", "origin_of"]


class Origin(NamedTuple):
    """scene: the point, with what the program multiplies its values by.  kept: the value that differs in the end.

    sure: whether the kept value is known to follow from this point.
    """

    scene: Scene
    kept: Pair | None
    sure: bool


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
        return _without_kept(pairs, reference, other)
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
    candidates = [pair for pair in window if not _is_kept(pair) and (pair.differs or _has_other_shapes(pair))]
    linked = _linked(kept, candidates, [pair for pair in window if is_source(pair)], before, counts)
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
    same = [pair for pair in left if _shapes(pair) & _shapes(kept)]
    return _at(same[0] if same else left[0], kept, reference, other)._replace(sure=sure)


def _without_kept(pairs: Sequence[Pair], reference: Sequence[PointFacts], other: Sequence[PointFacts]) -> Origin | None:
    """Returns the first point that differs and whose factor does not come again, where nothing kept is recorded."""
    different = [place for place, pair in enumerate(pairs) if pair.differs]
    if not different or any(_is_kept(pair) for pair in pairs):
        return None
    alone = (place for place in different if not recurs(pairs, place) and not is_undone(pairs[:place], pairs[place]))
    first = _first_constant(pairs, next(alone, different[0]))
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


def _linked(
    kept: Pair, candidates: Sequence[Pair], sources: Sequence[Pair], before: Sequence[Pair], counts: tuple[int, int]
) -> tuple[Pair, float] | None:
    """Returns the point from which the kept value follows, and the scale; the strongest link decides."""
    shaped = _linked_as(kept, candidates, sources, before, counts, bare=False)
    return shaped or _linked_as(kept, candidates, sources, before, counts, bare=True)


def _linked_as(
    kept: Pair,
    candidates: Sequence[Pair],
    sources: Sequence[Pair],
    before: Sequence[Pair],
    counts: tuple[int, int],
    *,
    bare: bool,
) -> tuple[Pair, float] | None:
    """Returns what `_linked` does.  bare: as of `link`.

    Of several multiples the first is meant, but a single number is a multiple of any other: there, it is the last.
    """
    options = [
        _Option(link(kept, pair, scale, bare=bare), pair, scale, None)
        for pair in candidates
        for scale in _scales(before, pair)
    ]
    rights = [source for source in sources if _is_right(source, counts)]
    others = [source for source in sources if all(source is not one for one in rights)]
    for source in (*others, *rights):
        made = [
            _Option(link(kept, variant, 1.0, bare=bare), variant, 1.0, way)
            for way, variant, _ in variants(source, counts)
            if variant.differs
        ]
        if any(source is one for one in rights):
            # Replica 0's component alone may have been taken; any share of it is a multiple of any number.
            made = [one for one in made if one.way == "first" and one.link is Link.EQUAL and _varies(source)]
        # With two replicas every way of combining changes in proportion to every other one.
        changes = [one for one in made if one.link is Link.CHANGE]
        options += [one for one in made if one.link > Link.CHANGE] + (changes if len(changes) == 1 else [])
    for strength in (Link.EQUAL, Link.MULTIPLE, Link.CHANGE):
        found = [one for one in options if one.link is strength]
        if found:
            is_number = strength is Link.MULTIPLE and all(shape in ((), (1,)) for shape in _shapes(kept))
            # What a point combined comes before what a program may have made of a source.
            found = [one for one in found if one.way is None] or found
            chosen = next(one for one in found if one.pair is (found[-1] if is_number else found[0]).pair)
            return _begun(_of_components(chosen, sources), sources, counts), chosen.scale
    return None


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
        scale = scale_of(pair, pairs, _scales(before, pair), named)
        if scale is None or pair.one is None:
            return None
        one = combine(pair.one.reference, pair.one.other, pair.one.units, pair.one.counts, scale)
        if differing(one):
            return pair, scale
    return None


def _is_right(source: Pair, counts: tuple[int, int]) -> bool:
    """Returns whether a variable of which each replica has a component has the reference's value where it is read."""
    one = source.one
    own = None if one is None or not one.other.own else {"SUM": "sum", "MEAN": "mean"}.get(one.other.op or "")
    made = [variant for way, variant, _ in variants(source, counts) if way == own]
    return bool(made) and not any(variant.differs for variant in made)


def _varies(source: Pair) -> bool:
    """Returns whether the replicas' components differ: equal ones are shares that a division gives as well."""
    assert source.one is not None
    return source.one.differ_among_replicas


class _Option(NamedTuple):
    """A point from which the kept value may follow.  way: how the program combines a source's values."""

    link: Link
    pair: Pair
    scale: float
    way: str | None


def _of_components(chosen: _Option, sources: Sequence[Pair]) -> _Option:
    """Returns the source that a point has combined, where that is a variable of which replicas write components."""
    point = None if chosen.pair.one is None else chosen.pair.one.other
    way = None if point is None or chosen.way is not None else {"SUM": "sum", "MEAN": "mean"}.get(point.op or "")
    for source in reversed(sources):
        one = source.one
        if way is None or point is None or one is None or not one.other.own or one.other.subject != point.subject:
            continue
        same = len(one.other.inputs) == len(point.inputs) and all(
            all_alike(left, right, ()) for left, right in zip(one.other.inputs, point.inputs, strict=True)
        )
        return chosen._replace(pair=source, way=way) if same else chosen
    return chosen


def _begun(chosen: _Option, sources: Sequence[Pair], counts: tuple[int, int]) -> Pair:
    """Returns the first step in which components that replicas write alone, and add to, differ in the same way."""
    for source in sources:
        same = source.place[2] is not None and source.place[2] == chosen.pair.place[2]
        if same and source.one is not None and source.one.other.own:
            for way, variant, _ in variants(source, counts):
                if variant.differs and way == chosen.way:
                    return variant
    return chosen.pair


def _has_other_shapes(pair: Pair) -> bool:
    one = pair.one
    return one is not None and [leaf.shape for leaf in one.expected] != [leaf.shape for leaf in one.found]


def _is_kept(pair: Pair) -> bool:
    return (pair.other or pair.reference).kept if pair.one is None else pair.one.other.kept  # type: ignore[union-attr]


def _shapes(pair: Pair) -> set[tuple[int, ...]]:
    assert pair.one is not None
    return {leaf.shape for leaf in pair.one.expected}


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


def _scales(before: Sequence[Pair], pair: Pair) -> list[float]:
    """Returns by what the program may multiply the values of a point: by 1, or by what made up for it before."""
    assert pair.one is not None
    found = [1.0, 1 / pair.one.ratio, pair.one.ratio]
    undone = undone_factor(before, pair)
    return found if undone is None else [1 / undone, *found]
