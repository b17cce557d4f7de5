"""How the values of one name at one line stand to the reference's, over all replicas and times.

Values of several replicas stand lawfully to the reference's where they are the same, are parts of it, or add up to it
or have it as their mean: what a program does with them then decides. A loop may have other turns in the other run, such
as one for each part of a batch, so turns are put together as well.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from simstrategy.check.causes.facts import Host, Leaves
from simstrategy.check.causes.held import Held, History, is_near, rows_of
from simstrategy.check.causes.rounding import wide

__all__ = ["all_near", "combined", "failing_at", "failing_times", "loops_of", "turns_of"]

Values = Sequence[Leaves]
"""Of each replica its leaves, at one time."""

_RULES: Final = ("sum", "mean")
_INNER_MAX: Final = 16
"""The most turns of an inner loop."""


def failing_at(expected: History, found: History) -> int | None:
    """Returns the first time at which values stand in no lawful way to the reference's; None where there is none."""
    return next(failing_times(expected, found), None)


def failing_times(expected: History, found: History) -> Iterator[int]:
    """Yields the times at which values stand in no lawful way to the reference's.

    Where one run goes on for more steps, the turns of steps that both make may stand lawfully: then none is yielded. So
    may each of several leaves in its own way, such as the parts and the number that a function returns together.
    """
    times = _failing_times(expected, found)
    first = next(times, None)
    if first is None:
        return
    leaves = list(_by_leaf(expected, found))
    if leaves:
        yield from sorted({time for pair in leaves for time in _failing_times(*pair)})
        return
    yield first
    yield from times


def _by_leaf(expected: History, found: History) -> Iterator[tuple[History, History]]:
    """Yields the histories of each leaf, where they are of unlike shapes, and all values have as many."""
    values = [one for history in (expected, found) for of_rank in history.values for one in of_rank]
    shapes = {tuple(leaf.ndim for leaf in one.leaves) for one in values}
    if len(shapes) != 1 or len({*(dimensions := shapes.pop())}) < 2:
        return
    for place in range(len(dimensions)):
        one, other = [
            history._replace(
                values=tuple(
                    tuple([held._replace(leaves=(held.leaves[place],)) for held in of_rank])
                    for of_rank in history.values
                )
            )
            for history in (expected, found)
        ]
        yield one, other


def _failing_times(expected: History, found: History) -> Iterator[int]:
    """Yields the times at which values stand in no lawful way to the reference's, of all leaves in one way."""
    if _is_pool(expected.values, found.values):
        return
    common = _common_steps(expected, found)
    if common is not None and next(_failing_times(*common), None) is None:
        return
    turns = turns_of(expected, found)
    if turns is None:
        ends: list[list[Values]] = [
            [[values[-1].leaves for values in history.values if values]] for history in (expected, found)
        ]
        if not (all(ends[0]) and all(ends[1]) and _stands(ends[0], ends[1])):
            yield 0
        return
    failing = (number * len(other) for number, (one, other) in enumerate(turns) if not _stands(one, other))
    first = next(failing, None)
    if first is None or any(all(_stands(*pair) for pair in pairs) for pairs in loops_of(expected, found)):
        return  # an inner loop over values of one shape has turns of its own
    yield first
    yield from failing


def _common_steps(expected: History, found: History) -> tuple[History, History] | None:
    """Returns the turns of the steps that both runs make, where one goes on with later steps; None elsewhere."""
    count = min(expected.times or 0, found.times or 0)
    longer = max(expected, found, key=lambda history: history.times or 0).values[0]
    if not 0 < count < len(longer) or longer[count].step <= longer[count - 1].step:
        return None
    steps = [[one.step for one in history.values[0][:count]] for history in (expected, found)]
    if steps[0] != steps[1]:
        return None
    one, other = [
        history._replace(values=tuple([values[:count] for values in history.values])) for history in (expected, found)
    ]
    return one, other


def turns_of(expected: History, found: History) -> list[tuple[list[Values], list[Values]]] | None:
    """Returns the turns of both runs that belong together; None where they do not go into each other.

    Of each pair one has a single turn. Where an inner loop goes over values of other shapes, such as parameters, its
    turns belong to those with the same shapes.
    """
    first = None
    for pairs in loops_of(expected, found):
        if all(_shapes(one) == _shapes(other) for one, other in pairs):
            return pairs
        first = pairs if first is None else first
    return first


def loops_of(expected: History, found: History) -> Iterator[list[tuple[list[Values], list[Values]]]]:
    """Yields the turns of both runs that may belong together, by how many turns an inner loop has: one, two, ...

    Of each pair one has a single turn. Nothing is yielded where the turns do not go into each other.
    """
    times = expected.times, found.times
    if times[0] is None or times[1] is None or not times[0] or not times[1]:
        return
    larger, smaller = max(times[0], times[1]), min(times[0], times[1])
    if larger % smaller:
        return
    sides: list[list[Values]] = [
        [[rank[time].leaves for rank in history.values] for time in range(history.times or 0)]
        for history in (expected, found)
    ]
    for inner in range(1, min(smaller, _INNER_MAX) + 1):
        if not smaller % inner:
            yield list(zip(*[_grouped(side, smaller, inner) for side in sides], strict=True))


def _grouped(values: list[Values], count: int, inner: int) -> list[list[Values]]:
    """Returns `count` groups of turns.  inner: how many turns an inner loop has, which come round by round."""
    each = len(values) // count
    blocks = [values[first : first + each * inner] for first in range(0, len(values), each * inner)]
    return [block[place::inner] for block in blocks for place in range(inner)]


def _shapes(turns: Sequence[Values]) -> set[tuple[tuple[int, ...], ...]]:
    """Returns the shapes of rank 0's leaves, without the first dimension, in which replicas have parts."""
    return {(*[leaf.shape[1:] for leaf in values[0]], (len(values[0]),)) for values in turns}


def combined(turns: Sequence[Values], over_ranks: str, over_turns: str) -> Leaves | None:
    """Returns what the values of all replicas and turns give together; None for other shapes.

    over_ranks, over_turns: "sum" or "mean".
    """
    shapes = {tuple(leaf.shape for leaf in leaves) for values in turns for leaves in values}
    if len(shapes) != 1:
        return None
    scale = 1.0
    scale /= len(turns[0]) if over_ranks == "mean" else 1
    scale /= len(turns) if over_turns == "mean" else 1
    columns = zip(*[leaves for values in turns for leaves in values], strict=True)
    with np.errstate(all="ignore"):
        return tuple(np.asarray(sum(wide(leaf) for leaf in column) * scale) for column in columns)


def all_near(expected: Leaves | None, found: Leaves | None) -> bool:
    """Returns whether leaves [any shape] are the expected ones."""
    if expected is None or found is None or len(expected) != len(found):
        return False
    return all(is_near(one, other) for one, other in zip(expected, found, strict=True))


def _stands(expected: list[Values], found: list[Values]) -> bool:
    """Returns whether the values of some turns are the reference's, are parts of them, or combine to them."""
    if all(_is_same(one, other) for one in expected for other in found):
        return True
    if len(expected) != len(found):  # the last turn counts, as of a sum that grows
        ends = expected[-1:], found[-1:]
        if _is_same(expected[-1], found[-1]) or any(_is_combined(*ends, ranks, "sum") for ranks in _RULES):
            return True
    if _is_pool(_by_replica(expected), _by_replica(found)):  # such as a list of what was gathered, filled up with zeros
        return True
    if _is_pool([_joined(expected)], [_joined(found)]) or _is_cut(expected, found) or _is_pairwise(expected, found):
        return True
    return any(
        _is_combined(expected, found, ranks, turns)
        for ranks in _RULES
        for turns in _RULES[: 1 + (len(expected) != len(found))]
    )


def _is_combined(expected: list[Values], found: list[Values], over_ranks: str, over_turns: str) -> bool:
    return all_near(combined(expected, over_ranks, over_turns), combined(found, over_ranks, over_turns))


def _is_same(expected: Values, found: Values) -> bool:
    """Returns whether each replica has what the reference has: its replica of the same rank, or its only one."""
    if len(expected) == len(found):
        return all(all_near(one, other) for one, other in zip(expected, found, strict=True))
    return all(
        all_near(expected[0], other) or _is_filled_up(expected[0], other, len(found))
        for other in (*expected[1:], *found)
    )


def _is_filled_up(expected: Leaves, found: Leaves, replicas: int) -> bool:
    """Returns whether floats [n, ...] are followed by zeros, fewer than replicas: then they divide into equal parts."""
    if len(expected) != len(found) or not all(leaf.ndim and leaf.dtype.kind == "f" for leaf in (*expected, *found)):
        return False
    lengths = [(len(one), len(other)) for one, other in zip(expected, found, strict=True)]
    if not all(0 <= longer - length < replicas for length, longer in lengths):
        return False
    if any(other[len(one) :].any() for one, other in zip(expected, found, strict=True)):
        return False
    return all_near(expected, tuple(other[: len(one)] for one, other in zip(expected, found, strict=True)))


def _is_cut(expected: list[Values], found: list[Values]) -> bool:
    """Returns whether replicas have the reference's leaves [...] in parts, in their order, along an axis but the first.

    Parts along the first axis are rows, which may come in any order.
    """
    if not len(expected) == len(found) == len(expected[0]) == 1 or len(found[0]) < 2:
        return False
    (whole,), parts = expected[0], found[0]
    if len(whole) != 1 or any(len(part) != 1 or part[0].ndim != whole[0].ndim for part in parts):
        return False
    return any(_is_along(axis, whole[0], [part[0] for part in parts]) for axis in range(1, whole[0].ndim))


def _is_pairwise(expected: list[Values], found: list[Values]) -> bool:
    """Returns whether rows of one number for each row of the batch [n, n] are the reference's, besides both orders.

    What is gathered of all replicas has the rows of each after those of the one before, and so have the columns then.
    """
    if not len(expected) == len(found) == len(expected[0]) == 1 or len(found[0]) < 2:
        return False
    every = [leaf for values in (expected[0], found[0]) for leaves in values for leaf in leaves]
    whole = expected[0][0]
    if len(whole) != 1 or any(leaf.ndim != 2 or leaf.dtype.kind != "f" for leaf in every):
        return False
    if {leaf.shape[1] for leaf in every} != {len(whole[0])}:
        return False
    return _is_pool([[(np.sort(whole[0], axis=1),)]], [[(np.sort(leaf, axis=1),)] for (leaf,) in found[0]])


def _is_along(axis: int, whole: Host, parts: Sequence[Host]) -> bool:
    sizes = [(*part.shape[:axis], 0, *part.shape[axis + 1 :]) for part in (whole, *parts)]
    return len({*sizes}) == 1 and is_near(whole, np.concatenate(parts, axis))


def _by_replica(turns: Sequence[Values]) -> list[list[Leaves]]:
    """Returns of each replica its leaves of all turns."""
    return [list(leaves) for leaves in zip(*turns, strict=True)] if len({*map(len, turns)}) == 1 else []


def _joined(turns: Sequence[Values]) -> list[Leaves]:
    return [leaves for values in turns for leaves in values]


def _is_pool(expected: Sequence[Sequence[Held | Leaves]], found: Sequence[Sequence[Held | Leaves]]) -> bool:
    """Returns whether all rows of both runs are the same, in any order, of all replicas together or of each.

    Of floats the other run may have rows of zeros besides: fewer than parts, since they fill up the last one.
    """
    if not expected or not found:
        return False
    one, other = [_rows(side) for side in (expected, found)]
    leaves = [leaf for values in found for leaf in _leaves(values)]
    added_max = sum(map(len, found)) if all(leaf.dtype.kind == "f" for leaf in leaves) else 0
    if _is_rows(_together(one), _together(other), added_max):
        return True
    return all(_is_rows(one[0], rows, added_max) for rows in (*one[1:], *other))


def _rows(side: Sequence[Sequence[Held | Leaves]]) -> list[Host]:
    return [rows_of(tuple(_leaves(values))) for values in side]


def _leaves(values: Sequence[Held | Leaves]) -> Iterator[Host]:
    for one in values:
        yield from one.leaves if isinstance(one, Held) else one


def _together(rows: Sequence[Host]) -> Host:
    widths = {one.shape[1] for one in rows if one.size}
    if len(widths) != 1:
        return np.zeros((0, 1))
    found = np.concatenate([one for one in rows if one.size])
    return found[np.lexsort(found.T[::-1])]


def _is_rows(expected: Host, found: Host, added_max: int) -> bool:
    """Returns whether rows, sorted, are the expected ones, besides rows of zeros that fill up the last part."""
    added = len(found) - len(expected)
    if 0 < added < added_max:
        zeros = np.flatnonzero(~found.any(axis=1))[:added]
        found = np.delete(found, zeros, axis=0)
    return expected.shape == found.shape and bool(expected.size) and is_near(expected, found)
