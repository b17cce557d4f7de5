"""Finds the point that a value of the program follows, by the values of both in both runs.

What a program makes of the values that replicas bring, such as their sum, counts as a point too.
"""

from collections.abc import Sequence
from typing import NamedTuple

from simstrategy.check.causes.alignment import Pair
from simstrategy.check.causes.links import Link, link
from simstrategy.check.causes.recurring import undone_factor
from simstrategy.check.causes.rounding import all_alike
from simstrategy.check.causes.sources import variants

__all__ = ["followed", "scales_of", "shapes_of"]


class _Option(NamedTuple):
    """A point from which the kept value may follow.  way: how the program combines a source's values."""

    link: Link
    pair: Pair
    scale: float
    way: str | None


def followed(
    kept: Pair, candidates: Sequence[Pair], sources: Sequence[Pair], before: Sequence[Pair], counts: tuple[int, int]
) -> tuple[Pair, float] | None:
    """Returns the point from which the kept value follows, and the scale; the strongest link decides."""
    shaped = _followed_as(kept, candidates, sources, before, counts, bare=False)
    return shaped or _followed_as(kept, candidates, sources, before, counts, bare=True)


def _followed_as(
    kept: Pair,
    candidates: Sequence[Pair],
    sources: Sequence[Pair],
    before: Sequence[Pair],
    counts: tuple[int, int],
    *,
    bare: bool,
) -> tuple[Pair, float] | None:
    """Returns what `followed` does.  bare: as of `link`.

    Of several multiples the first is meant, but a single number is a multiple of any other: there, it is the last.
    """
    options = [
        _Option(link(kept, pair, scale, bare=bare), pair, scale, None)
        for pair in candidates
        for scale in scales_of(before, pair)
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
            is_number = strength is Link.MULTIPLE and all(shape in ((), (1,)) for shape in shapes_of(kept))
            # What a point combined comes before what a program may have made of a source.
            found = [one for one in found if one.way is None] or found
            chosen = next(one for one in found if one.pair is (found[-1] if is_number else found[0]).pair)
            return _begun(_of_components(chosen, sources), sources, counts), chosen.scale
    return None


def scales_of(before: Sequence[Pair], pair: Pair) -> list[float]:
    """Returns by what the program may multiply the values of a point: by 1, or by what made up for it before."""
    assert pair.one is not None
    found = [1.0, 1 / pair.one.ratio, pair.one.ratio]
    undone = undone_factor(before, pair)
    return found if undone is None else [1 / undone, *found]


def shapes_of(pair: Pair) -> set[tuple[int, ...]]:
    """Returns the shapes of what a point gives in the reference."""
    assert pair.one is not None
    return {leaf.shape for leaf in pair.one.expected}


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
