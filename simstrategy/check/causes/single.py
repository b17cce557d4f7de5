"""Recognises one replica's value that stands for all, and values that nothing combines."""

from collections.abc import Iterator, Sequence

import numpy as np

from simstrategy.check.causes.combination import Combination, together
from simstrategy.check.causes.facts import (
    DIVIDED,
    FIRST_REPLICA,
    MISSING_REDUCTION,
    ONE_REPLICA,
    Finding,
    Host,
    PointFacts,
)
from simstrategy.check.causes.rounding import wide
from simstrategy.check.causes.scene import Scene

__all__ = ["by_component", "by_one_replica"]


def by_one_replica(scene: Scene) -> Finding | None:
    """Looks for a replica whose value is the found one, while the others have other values."""
    one = scene.one
    writers = [rank for rank, term in enumerate(one.terms) if term]
    if len(one.terms) != one.replicas or one.replicas < 2:
        return None  # parts that were put together are what no replica has, and stand once
    if any(len(one.terms[rank]) != len(one.found) for rank in writers):
        return None
    if len(writers) == 1:
        return Finding(ONE_REPLICA, f"replica {writers[0]} alone writes it, and the others keep their value")
    if len(writers) < one.replicas or not one.differ_among_replicas or one.rule is not None:
        return None
    same = [rank for rank in writers if one.reaches(one.found, one.terms[rank])]
    return _named(scene, same[0], _meant(one)) if same else None


def _named(scene: Scene, rank: int, how: str | None) -> Finding | None:
    """Returns the finding for one replica's value in place of all.  how: what gives the reference's, in words."""
    one, by_parts = scene.one, "examples" in (how or "")
    if one.other.own and how is not None:
        reason = f"each replica keeps its own value, and nothing combines them: {how} gives the reference's result"
        return Finding(MISSING_REDUCTION, reason, "Reduce it over the replicas first", by_parts)
    if how is None and (one.other.own or one.other.op != FIRST_REPLICA):
        return None
    reason = f"only replica {rank}'s value counts, and the other replicas' values are lost"
    if how is not None:
        reason += f": {how} gives the reference's result"
    kinds = (ONE_REPLICA, MISSING_REDUCTION)
    if scene.kept is not None and scene.kept.what == "result" and one.other.subject is None:
        kinds = kinds[1], kinds[0]
    return Finding(kinds[0], reason, "Combine the values of all replicas", by_parts, also=kinds[1:])


def _meant(one: Combination) -> str | None:
    """Returns the combination of all replicas' values that gives the reference's result, in words."""
    count = one.replicas
    ways = [("their sum", [1.0] * count), ("their mean", [1 / count] * count)]
    if one.shares is not None and len(set(one.shares)) > 1:
        ways.append(("their mean, weighted by the parts' examples,", list(one.shares)))
    expected = one.expected
    if all(np.isfinite(np.asarray(leaf, np.float64)).all() for leaf in expected if leaf.dtype.kind == "f"):
        for text, weights in ways:
            if one.gives(expected, weights):
                return text
    return None


def by_component(scene: Scene) -> Finding | None:
    """Recognises a number or array that is one replica's component of a variable, and all of them in the reference.

    Such a variable is combined where it is read.  Clause: J-79.
    """
    one = scene.one
    if one.replicas < 2 or len(one.found) != 1 or not one.found[0].any():
        return None
    theirs = {subject: (point, total) for subject, point, total in _combined_before(scene.reference, one.reference)}
    for subject, point, total in _combined_before(scene.other, one.other):
        known = theirs.get(subject)
        if known is None or not one.reaches(one.expected, (known[1],)) or one.reaches(one.found, (total,)):
            continue
        same = [rank for rank, term in enumerate(point.inputs) if one.reaches(one.found, term)]
        if same and one.reaches(one.expected, (total,)):
            how = "sum" if point.op == "SUM" else "mean"
            reason = (
                f"it is {subject!r} of replica {same[0]} alone, as step {point.step} left it: the {how} over the "
                f"replicas is the reference's"
            )
            remedy = f"Read {subject!r} itself, which combines what all replicas have"
            if len(same) < len(point.inputs):
                return Finding(MISSING_REDUCTION, reason, remedy)
            if np.allclose(wide(one.found[0]) * one.ratio, wide(one.expected[0])):
                reason = f"it is the reference's, divided by {one.ratio:g}; {reason}"
                return Finding(DIVIDED, reason, f"Remove one division. {remedy}", also=(MISSING_REDUCTION,))
    return None


def _combined_before(points: Sequence[PointFacts], until: PointFacts) -> Iterator[tuple[str, PointFacts, Host]]:
    """Yields for each variable of components its last state before a point, and what combines them."""
    last: dict[str, PointFacts] = {}
    for point in points:
        if point.number >= until.number >= 0:
            break
        if point.own and point.subject and point.op in ("SUM", "MEAN"):
            last[point.subject] = point
    for subject, point in last.items():
        summed = together(point)
        if subject != until.subject and summed is not None:
            yield subject, point, summed if point.op == "SUM" else np.asarray(summed / len(point.inputs))
