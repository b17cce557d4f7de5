"""The kinds of causes, in the order in which they are looked for: proofs by equations first, then signs.

Each recogniser receives a `Scene` and returns a `Finding`, or None. The first one that finds something decides, so one
that could also hold by chance, or follow from another kind, comes later.
"""

from collections.abc import Callable
from typing import Final

import numpy as np

from simstrategy.check.causes.changes import change_meaning
from simstrategy.check.causes.clipping import by_clipping
from simstrategy.check.causes.combination import Combination, differing, focused, whole
from simstrategy.check.causes.companions import by_rows_of_values, by_variances
from simstrategy.check.causes.factor import factor_of, is_open, names_of, nearness
from simstrategy.check.causes.facts import (
    CLIPPING,
    DIVIDED,
    DUPLICATED,
    FACTOR,
    MEAN_OF_MEANS,
    MISSING_REDUCTION,
    NORMS_AGAIN,
    ROOT,
    SCALED,
    STEPS_COUNTED,
    SUM_OF_MEANS,
    SUMMED,
    Finding,
    Leaves,
)
from simstrategy.check.causes.functions import by_functions
from simstrategy.check.causes.order import by_order
from simstrategy.check.causes.repeated import by_repeated_term
from simstrategy.check.causes.rounding import all_alike, allowed, unit_of, wide
from simstrategy.check.causes.samples import by_grown_arrays, by_rows, by_sizes, equal_terms, is_same_data
from simstrategy.check.causes.scene import Scene
from simstrategy.check.causes.single import by_component, by_one_replica
from simstrategy.check.causes.weights import by_weights
from simstrategy.trace.recording import STEP_CHANGES

__all__ = ["EXACT", "recognised"]

_NAMED_NEAR: Final = 1e-3
"""How near a factor has to be to the number that its meaning belongs to; `names_of` has compared it by rounding."""

_ANOTHER_NUMBER: Final = "Runs with another number of replicas, such as 2 or 3, distinguish these"
_BY_ALL: Final = "Add, and divide by the number of examples of all replicas where these have unequal numbers of them"

Recogniser = Callable[[Scene], Finding | None]


def by_factor(scene: Scene) -> Finding | None:
    """Recognises one factor in all values that differ, if it is a number with a name (`factor.names_of`)."""
    one = scene.one
    k = the_factor(one)
    if k is None:
        return None
    bound = max([allowed(one.units[number], one.expected[number]) for number in differing(one)], default=0.0)
    bound = max(bound, 1e-12)
    names = names_of(
        k,
        bound,
        replicas=one.replicas,
        expected_replicas=one.counts[0],
        step=one.other.step,
        steps=scene.steps,
        parts=one.parts,
    )
    if not names:
        return None
    times = f"the found values are {k:.6g} times the expected ones"
    kind, reason, remedy, also = _meaning(scene, k, names[0], max(_NAMED_NEAR, nearness(bound)))
    by_parts = "part" in names[0]
    return Finding(kind, f"{times} ({', and also '.join(names)}){reason}", remedy, by_parts, k, also)


def the_factor(one: Combination) -> float | None:
    """Returns the one number by which the values of a point differ, or None; small integers count for nothing."""
    k = factor_of(one.expected, one.found, one.units)
    if k is None or abs(k) < 1e-6:
        return None
    numbers = differing(one)
    integers = all((one.expected[number] == np.round(one.expected[number])).all() for number in numbers)
    enough = sum(one.expected[number].size for number in numbers) > 2 or whole(one)
    enough = enough or any(one.gives(one.expected, [weight] * one.replicas) for weight in (1.0, 1 / one.replicas))
    return k if enough or not integers or _is_count(one, k) else None


def _is_count(one: Combination, k: float) -> bool:
    """Returns whether each replica contributes k times the number of its examples, and the reference the number."""
    parts, whole_parts = one.parts, one.reference.parts
    if parts is None or whole_parts is None or sum(parts) != sum(whole_parts) or len(one.terms) != len(parts):
        return False
    if [leaf.size for leaf in (*one.expected, *[leaf for term in one.terms for leaf in term])] != [1] * (
        1 + len(parts)
    ):
        return False
    expected, *terms = [float(leaf.reshape(-1)[0]) for leaf in (one.expected[0], *[term[0] for term in one.terms])]
    share = 1 / one.replicas if one.rule == "mean" else 1.0
    found = [abs(term * share - k * part) <= _NAMED_NEAR * k * part for term, part in zip(terms, parts, strict=True)]
    return one.rule is not None and expected == sum(parts) and all(found)


def _meaning(scene: Scene, k: float, name: str, near: float) -> tuple[str, str, str, tuple[str, ...]]:
    """Returns kind, meaning, and advice for a factor, and the other kinds that have it.

    near: how near the factor has to be to a number, relatively.
    """
    ratio = scene.one.ratio
    is_ratio, is_share = [abs(k / value - 1) < near for value in (ratio, 1 / ratio)]
    if scene.one.other.what == STEP_CHANGES and "replicas" in name and (is_ratio or is_share):
        return change_meaning(scene, is_larger=k > 1)
    if is_ratio:
        return _summed(scene)
    again = "squared norms that are summed again have it as well"
    for value, kind, reason, remedy in (
        (1 / ratio, DIVIDED, "there is one division too many", "Remove one division, such as a MEAN"),
        (ratio**2, FACTOR, "multiplied by the number of replicas twice too often", "Take means in place of sums"),
        (ratio**-2, FACTOR, "divided by the number of replicas twice too often", "Remove both divisions"),
        (ratio**0.5, ROOT, again, ""),
        (ratio**-0.5, ROOT, f"it is divided by that root; {again}", ""),
    ):
        if abs(k / value - 1) < near and "replicas" in name:
            if kind is ROOT and is_open(ratio):
                return FACTOR, _open(k), _ANOTHER_NUMBER, (ROOT, NORMS_AGAIN)
            # A write that averages the replicas' own values may lack a sum before it.
            one = scene.one
            # The same number on all replicas, which nothing combines, may be one of equal shares.
            lacks = one.other.kept and (one.differ_among_replicas or one.other.what == "result") and kind is DIVIDED
            also = (MISSING_REDUCTION,) if lacks else (NORMS_AGAIN,) if kind is ROOT else ()
            if kind is DIVIDED and not also and (rank := _bringing(one)) is not None:
                return (
                    kind,
                    f": replica {rank} alone brings anything but zeros, and {reason}",
                    _BY_ALL,
                    (MEAN_OF_MEANS,),
                )
            return kind, f": {reason}", remedy, also
    return FACTOR, "", "", ()


def _bringing(one: Combination) -> int | None:
    """Returns the only replica whose value in a mean is not zero: others may have no example; None for other values."""
    found = [rank for rank, term in enumerate(one.terms) if any(leaf.any() for leaf in term)]
    return found[0] if one.rule == "mean" and len(one.terms) > 1 and len(found) == 1 else None


def _open(k: float) -> str:
    """Returns what a factor may be besides the root of the number of replicas, or one part of it, as a clause."""
    size = round(max(k, 1 / k))
    whose = f"{size}" if k > 1 else f"1/{size}"
    return f": it may as well be {whose} whatever their number, or that of groups of {size} replicas"


def _summed(scene: Scene) -> tuple[str, str, str, tuple[str, ...]]:
    """Describes values that are too large by the number of replicas: whole ones, means, or neither."""
    one = scene.one
    if whole(one):
        before = scene.was_combined_before(one.terms[0])
        if before is not None:
            reason = f": each replica holds {before[1]} at {before[0].site}, and these values are summed again"
            return NORMS_AGAIN if "norm" in before[1] else SUMMED, reason, "Combine once", ()
        also = () if is_same_data(scene) else (DUPLICATED,)
        sizes = np.concatenate([np.abs(leaf).reshape(-1) for leaf in one.expected])
        if sizes[0] and (sizes == sizes[0]).all() and (sizes.size > 1 or _is_largest(scene, float(sizes[0]))):
            also = (CLIPPING, *also)  # nothing but the bound of a clip by value is the same on all replicas, too
        if one.other.what == "assign_add" and all(leaf.size == 1 and leaf.item() == 1 for leaf in one.expected):
            also = (STEPS_COUNTED, *also)
        reason = f": each of {one.replicas} replicas contributes the whole value, and these are added"
        return SUMMED, reason, "Take the mean, or let each replica contribute its own part", also
    before = scene.was_combined_before(one.terms[0]) if one.rule == "mean" and not one.differ_among_replicas else None
    if before is not None and before[0].op == "SUM" and _are_same(before[0].outputs, one):
        reason = f": each replica holds the sum of {before[0].site} already, and a mean of equal values leaves it a sum"
        return SUM_OF_MEANS, reason, "Divide it by the number of replicas, or take the mean there", (SUMMED, SCALED)
    unequal = one.parts is not None and len(set(one.parts)) > 1
    others_agree = len(one.other.outputs) > len(one.expected)  # then the call is right, and the value is not
    if unequal and one.rule == "sum" and not others_agree:
        return SUMMED, ": the mean of the replicas' values gives the reference's", "Take the mean", (SCALED,)
    also = (SUMMED,) if one.rule == "sum" else ()
    if one.other.what in ("run", "result") and one.rule != "sum":
        also = (MISSING_REDUCTION,)  # a divisor that is that of a part makes it as large, where parts are equal
    if unequal or one.rule != "sum":
        return SCALED, ": each replica's value is too large by that factor", "Remove the factor", also
    reason = ": each replica's value is as large as a mean over its part, and they are summed where averaging was meant"
    return (
        SUM_OF_MEANS,
        reason,
        "Take the mean, or divide by the number of examples of the whole batch",
        (SUMMED, SCALED),
    )


def _are_same(combined: Leaves, one: Combination) -> bool:
    """Returns whether replicas bring what was combined before, and not a multiple of it; it may be reshaped."""
    terms = one.terms[0]
    if [leaf.size for leaf in combined] != [leaf.size for leaf in terms]:
        return False
    return all_alike(
        terms, tuple([new.reshape(old.shape) for new, old in zip(combined, terms, strict=True)]), one.units
    )


def _is_largest(scene: Scene, size: float) -> bool:
    """Returns whether other steps bring no larger number here, and one of them the same."""
    points = [point for point in scene.same_place() if point.step != scene.one.other.step]
    others = [float(np.abs(wide(leaf)).max(initial=0)) for point in points for term in point.inputs for leaf in term]
    return bool(others) and max(others) == size


EXACT: Final[tuple[Recogniser, ...]] = (
    by_rows,
    by_sizes,
    by_grown_arrays,
    by_one_replica,
    by_component,
    lambda scene: by_weights(scene.one),
    by_factor,
    by_functions,
    by_repeated_term,
)
"""Recognisers that prove that the replicas' values are right, and their combination is not."""

_SIGNS: Final[tuple[Recogniser, ...]] = (by_order, by_variances, by_rows_of_values, equal_terms, by_clipping)


def recognised(scene: Scene, *, exact: bool = False) -> Finding | None:
    """Returns the kind that the numbers of a point show, or None.  exact: by equations of the combination alone."""
    scene = scene._replace(one=focused(scene.one))
    if exact and not _is_usable(scene):
        return None
    for recogniser in EXACT if exact else (*EXACT, *_SIGNS):
        finding = recogniser(scene)
        if finding is not None:
            return finding
    return None


def _is_usable(scene: Scene) -> bool:
    return bool(scene.one.terms) and any(unit_of(leaf) for leaf in scene.one.expected)
