"""Values that replicas bring, and that the program combines itself: what `run` returned, or a merge call received.

With one replica there is nothing to combine, so a `reduce` outside replica functions is no synchronisation point there:
its reference is the value that the only replica returned.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from simstrategy.check.causes.alignment import Pair, paired
from simstrategy.check.causes.combination import Combination
from simstrategy.check.causes.facts import Host, PointFacts
from simstrategy.check.causes.rounding import wide

__all__ = ["completed", "is_source", "returned", "variants"]

_WAYS: Final = ("first", "sum", "mean")
"""How a program may make one value of those of all replicas."""


def is_source(pair: Pair) -> bool:
    """Returns whether a pair has values of both runs that no synchronisation point combines."""
    return pair.one is not None and not pair.one.expected and bool(pair.one.reference.inputs)


def completed(pairs: Sequence[Pair], counts: tuple[int, int]) -> list[Pair]:
    """Returns the pairs, with a reference for each reduction that a run of one replica does not make."""
    found: list[Pair] = []
    for pair in pairs:
        point = pair.other
        if pair.reference is None and point is not None and counts[0] == 1 and point.outputs and not point.kept:
            made = _reference(found, point)
            found.append(pair if made is None else paired(made, point, (), counts))
        else:
            found.append(pair)
    return found


def returned(pairs: Sequence[Pair], one: Combination) -> PointFacts | None:
    """Returns the first `run` that returned a kept value as it is, the same on all replicas; None for another value."""
    if len(one.expected) != 1 or len(one.found) != 1:
        return None
    for pair in pairs:
        if pair.one is None or not is_source(pair):
            continue
        for number, leaf in enumerate(pair.one.reference.inputs[0]):
            terms = [term[number] if number < len(term) else None for term in pair.one.other.inputs]
            if _same(leaf, one.expected[0]) and all(_same(term, one.found[0]) for term in terms):
                return pair.one.other
    return None


def _reference(before: Sequence[Pair], point: PointFacts) -> PointFacts | None:
    """Returns what a reduction gives with one replica: the leaf that the only replica has at the same place."""
    for pair in reversed(before):
        if not is_source(pair) or pair.one is None or len(point.outputs) != 1:
            continue
        theirs, (leaves,) = pair.one.other.inputs, pair.one.reference.inputs
        if len(theirs) != len(point.inputs):
            continue
        for number, leaf in enumerate(leaves):
            brought = [term[number] if number < len(term) else None for term in theirs]
            if all(_same(one, term[0]) for one, term in zip(brought, point.inputs, strict=True) if term):
                source = pair.one.reference
                made = point._replace(inputs=((leaf,),), outputs=(leaf,))
                # What was added in several steps has not the examples of one.
                return made._replace(
                    parts=None if source.added else source.parts, rows=None if source.added else source.rows
                )
    return None


def _same(one: Host | None, other: Host) -> bool:
    return one is not None and one.shape == other.shape and one.tobytes() == other.tobytes()


def variants(pair: Pair, counts: tuple[int, int]) -> Iterator[tuple[str, Pair, int]]:
    """Yields a source's pairs if the program takes replica 0's value ("first"), adds all ("sum"), or averages them.

    Each comes with its way and with the number of its leaf.
    """
    assert pair.one is not None
    expected, found = pair.one.reference.inputs, pair.one.other.inputs
    for number in range(max([len(term) for term in expected], default=0)):
        if any(number >= len(term) for term in (*expected, *found)):
            yield from _of_writer(pair, number, counts)
            continue
        left, right = [term[number] for term in expected], [term[number] for term in found]
        if left[0].dtype.kind not in "iufb" or len({one.shape for one in (*left, *right)}) > 1:
            continue
        if all(_same(one, right[0]) for one in right[1:]) and not pair.one.other.own:
            continue  # combined already
        for way in _WAYS:
            made = [
                point._replace(
                    op=point.op if way == "first" else way.upper(),
                    own=False,
                    inputs=tuple([(one,) for one in values]),
                    outputs=(_made(way, values),),
                )
                for point, values in ((pair.one.reference, left), (pair.one.other, right))
            ]
            yield way, paired(made[0], made[1], (), counts), number


def _of_writer(pair: Pair, number: int, counts: tuple[int, int]) -> Iterator[tuple[str, Pair, int]]:
    """Yields the pair of a value that one replica alone has written."""
    assert pair.one is not None
    expected, found = pair.one.reference, pair.one.other
    writers = [term[number] for term in found.inputs if number < len(term)]
    if len(writers) == 1 and len(expected.inputs) == 1 and number < len(expected.inputs[0]):
        value = expected.inputs[0][number]
        one = expected._replace(inputs=((value,),), outputs=(value,))
        inputs = tuple([term[number : number + 1] for term in found.inputs])
        made = found._replace(inputs=inputs, outputs=(writers[0],), own=False)
        yield "first", paired(one, made, (), counts), number


def _made(way: str, values: list[Host]) -> Host:
    if way == "first":
        return values[0]
    total = np.asarray(np.add.reduce([wide(one) for one in values]))
    if way == "mean":
        total = total / len(values)
    return np.asarray(total, values[0].dtype) if values[0].dtype.kind == "f" else total
