"""Recognises one replica's value that stands for all, and values that nothing combines."""

import numpy as np

from simstrategy.check.causes.combination import Combination
from simstrategy.check.causes.facts import MISSING_REDUCTION, ONE_REPLICA, Finding
from simstrategy.check.causes.scene import Scene

__all__ = ["by_one_replica"]


def by_one_replica(scene: Scene) -> Finding | None:
    """Looks for a replica whose value is the found one, while the others have other values."""
    one = scene.one
    writers = [rank for rank, term in enumerate(one.terms) if term]
    if one.replicas < 2 or any(len(one.terms[rank]) != len(one.found) for rank in writers):
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
    if how is None and (one.other.own or one.other.op != "ONLY_FIRST_REPLICA"):
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
