"""What the values of one name at one line show, where they stand in no lawful way to the reference's.

Each recogniser receives a `Spot` and returns a `Finding`, or None; the first one that finds something decides.
"""

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Final

import numpy as np

from simstrategy.check.causes.clipping import is_fixed
from simstrategy.check.causes.facts import (
    CLIPPING,
    DUPLICATED,
    FACTOR,
    MEAN_OF_MEANS,
    MISSING_REDUCTION,
    RATE,
    SCALED,
    STATISTICS,
    SUMMED,
    Finding,
    Host,
    Leaves,
)
from simstrategy.check.causes.held import Held, companions, is_near
from simstrategy.check.causes.line_samples import by_samples
from simstrategy.check.causes.part_means import is_weighted
from simstrategy.check.causes.rounding import wide
from simstrategy.check.causes.spots import Spot
from simstrategy.check.causes.standing import all_near, combined, turns_of

__all__ = ["is_divided", "is_extreme", "not_reduced", "recognised_at"]

_ELEMENTS_MIN: Final = 3
"""The fewest elements that prove a factor without a name."""
_FACTOR_NEAR: Final = 1e-3
_NAMED_MAX: Final = 4
_ADDS: Final = ("all_reduce", "reduce")
"""How what a script's calls add is named among what its names hold."""
_GRADIENT: Final = ".grad"
_RATE: Final = ".lr"


def by_empty_part(spot: Spot) -> Finding | None:
    """Recognises values that are not finite on a replica that has no rows."""
    for rank, values in enumerate(spot.found.values):
        for one in values:
            if all(np.isfinite(wide(leaf)).all() for leaf in one.leaves):
                continue
            empty = [name for name, held in companions(spot.other, rank, one).items() if _is_empty(held)]
            if empty:
                where = f"it is not finite on replica {rank}, where {empty[0]!r} has no rows"
                reason = f"{where}: the mean of an empty part is 0/0"
                return Finding(MEAN_OF_MEANS, reason, "Add, and divide by the number of rows of all replicas")
            return None
    return None


def by_factor(spot: Spot) -> Finding | None:
    """Recognises one factor, with a name, on all replicas."""
    pairs = spot.pairs
    if pairs is None:
        return None
    expected, found = pairs
    k = _factor(expected[0], found)
    if k is None or not _is_always(spot, k):
        return None
    ratio = spot.counts[1] / spot.counts[0]
    named = any(abs(k / value - 1) < _FACTOR_NEAR for value in (ratio, 1 / ratio, ratio**2, ratio**-2) if value != 1)
    if not named and sum(leaf.size for leaf in expected[0].leaves) < _ELEMENTS_MIN:
        return None  # any number is some number times another
    text = f"it is {k:.6g} times the reference's on {'all replicas' if len(found) > 1 else 'the replica'}"
    is_rate = spot.one.attribute.endswith(_RATE)
    if is_rate or ratio == 1 or abs(k / ratio - 1) > _FACTOR_NEAR:
        return Finding(RATE if is_rate else FACTOR, text, factor=k)
    return _added(spot, text, k)


def _added(spot: Spot, text: str, k: float) -> Finding:
    """Returns what it shows that a value is the reference's times the number of replicas.  k: that factor."""
    if _is_before_all_sums(spot):
        return Finding(SCALED, f"{text}, the number of replicas", factor=k, also=(SUMMED,))
    shared = _same_data(spot)
    if shared is not None:
        reason = f"{text}: all replicas hold the same rows of {shared.name!r} at {shared.site}{_stream(spot)}"
        reason += ", and what they give is added"
        return Finding(DUPLICATED, reason, "Give each replica a part of its own", factor=k, also=(SUMMED,))
    reason = f"{text}, the number of replicas: what they bring is added, and the mean of it is the reference's"
    return Finding(SUMMED, reason, "Take the mean, or let each replica contribute its own part", factor=k)


def _is_before_all_sums(spot: Spot) -> bool:
    """Returns whether a value is held before the first step, and before the first call that adds over the replicas."""
    run, one = spot.other[0], spot.one
    place = next((number for number, held in enumerate(run) if held is one), len(run))
    return one.step <= 1 and not any(held.name.startswith(_ADDS) for held in run[:place])


def is_divided(spot: Spot) -> bool:
    """Returns whether a sum over the replicas is divided by their number in the same call, and is right then."""
    pairs, ratio = spot.pairs, spot.counts[1] / spot.counts[0]
    if pairs is None or ratio == 1 or not all(all_near(pairs[1][0].leaves, one.leaves) for one in pairs[1][1:]):
        return False
    k = _factor(pairs[0][0], pairs[1])
    if k is None or abs(k / ratio - 1) > _FACTOR_NEAR:
        return False
    wanted, run = pairs[0][0], spot.other[0]
    begin = next(place for place, one in enumerate(run) if one is pairs[1][0])
    later = [one for one in run[begin + 1 :] if one.frame == pairs[1][0].frame]
    return any(all_near(wanted.leaves, one.leaves) for one in later)


def is_extreme(spot: Spot) -> bool:
    """Returns whether the largest or smallest of the replicas' last values is the reference's, and all hold it later.

    So it is of values that are reduced by MAX or MIN.
    """
    sides = (spot.expected.values, spot.found.values)
    if len(sides[1]) < 2 or not all(values for side in sides for values in side):
        return False
    ends = [[values[-1] for values in side] for side in sides]
    if not _of_one_shape([*ends[0], *ends[1]]):
        return False
    for rule in (np.maximum, np.minimum):
        one, other = [
            tuple(reduce(rule, [wide(leaf) for leaf in column]) for column in zip(*_leaves(side), strict=True))
            for side in ends
        ]
        if all_near(one, other) and all(
            _holds_later(run, end, other) for run, end in zip(spot.other, ends[1], strict=False)
        ):
            return True
    return False


def _holds_later(run: Sequence[Held], end: Held, wanted: Leaves) -> bool:
    begin = next(place for place, one in enumerate(run) if one is end)
    return any(all_near(wanted, one.leaves) for one in run[begin + 1 :])


def not_reduced(spot: Spot) -> Finding | None:
    """Recognises a value that each replica has for itself, where nothing combines it: the last one of a run."""
    turns = turns_of(spot.expected, spot.found)
    if spot.counts[0] == spot.counts[1] or turns is None or len(turns[0][1]) > 1 or len(turns[0][0]) > 1:
        return None
    expected, found = turns[0][0][0][0], turns[0][1][0]
    if len(found) < 2 or all(all_near(found[0], other) for other in found[1:]):
        return None
    rules = [rule for rule in ("mean", "sum") if all_near(expected, combined([found], rule, "sum"))]
    if not rules and is_weighted(spot) is None:
        return None
    how = f"their {rules[0]} is" if rules else "weighted by the sizes of their parts they give"
    reason = f"each replica has a value of its own, which is not reduced over the replicas: {how} the reference's"
    return Finding(MISSING_REDUCTION, reason, "Reduce it over all replicas")


def by_root(spot: Spot) -> Finding | None:
    """Recognises the norm of each replica's own part: the root of the sum of squares is the reference's."""
    pairs = spot.pairs
    if pairs is None or len(pairs[1]) < 2 or not _of_one_shape(pairs[1]):
        return None
    expected, found = pairs
    squares = tuple(np.sqrt(sum(wide(leaf) ** 2 for leaf in column)) for column in zip(*_leaves(found), strict=True))
    if not all_near(expected[0].leaves, squares) or any((leaf < 0).any() for one in found for leaf in one.leaves):
        return None
    reason = (
        "it is the norm of each replica's own part, the square of which is not reduced over the replicas: the root of "
        "the sum of their squares is the reference's, and norms do not add. What is clipped or scaled by it, or by a "
        "sum of such norms, depends on the number of replicas"
    )
    return Finding(MISSING_REDUCTION, reason, "Add the squares over all replicas before the root")


def by_scaled_parts(spot: Spot) -> Finding | None:
    """Recognises parts of the reference's value that each replica has multiplied by a number of its own."""
    pairs = spot.pairs
    if pairs is None or len(pairs[1]) < 2 or len(spot.one.leaves) != 1:
        return None
    expected, found = wide(pairs[0][0].leaves[0]), [wide(one.leaves[0]) for one in pairs[1]]
    if not expected.ndim or any(one.shape[1:] != expected.shape[1:] or not one.ndim for one in found):
        return None
    if sum(map(len, found)) != len(expected):
        return None
    starts = np.cumsum([0, *map(len, found)])
    scales = [_scale(expected[start : start + len(one)], one) for start, one in zip(starts, found, strict=False)]
    if None in scales or all(scale is not None and abs(scale - 1) < _FACTOR_NEAR for scale in scales):
        return None
    texts = [f"{scale:.4g}" for scale in scales]
    numbers = f"a number of its own ({', '.join(texts[:_NAMED_MAX])})" if len({*texts}) > 1 else texts[0]
    reason = f"each replica has multiplied its part of the reference's value by {numbers}"
    bound = max(float(np.linalg.norm(one)) for one in found)
    if is_fixed(bound, float(np.linalg.norm(expected)), len(found) / spot.counts[0]):
        return Finding(
            CLIPPING, f"{reason}, as clipping by the norm of a part does", "Clip by the norm of the whole value"
        )
    reason += ", as one does that divides by a mean, a spread or a norm of its part"
    return Finding(STATISTICS, reason, "Compute that number over all replicas first", also=(CLIPPING,))


_RECOGNISERS: Final[tuple[Callable[[Spot], Finding | None], ...]] = (
    by_empty_part,
    by_samples,
    by_factor,
    by_root,
    by_scaled_parts,
)


def recognised_at(spot: Spot) -> Finding | None:
    """Returns what the values of a spot show."""
    for recogniser in _RECOGNISERS:
        finding = recogniser(spot)
        if finding is not None:
            return finding
    return None


def _is_empty(held: Held) -> bool:
    return any(leaf.ndim and not len(leaf) for leaf in held.leaves)


def _factor(expected: Held, found: Sequence[Held]) -> float | None:
    """Returns the one number by which all values are the expected one, other than 1."""
    scales = []
    for one in found:
        if [leaf.shape for leaf in one.leaves] != [leaf.shape for leaf in expected.leaves]:
            return None
        pair = [np.concatenate([wide(leaf).reshape(-1) for leaf in held.leaves]) for held in (expected, one)]
        scales.append(_scale(*pair))
    known = [scale for scale in scales if scale is not None]
    if len(known) < len(scales) or not known or max(known) - min(known) > _FACTOR_NEAR * abs(known[0]):
        return None
    return None if abs(known[0] - 1) < _FACTOR_NEAR else known[0]


def _is_always(spot: Spot, k: float) -> bool:
    """Returns whether the factor is that of all times, which a value that is divided later has not in all programs."""
    times = range(spot.time, spot.found.times or 0)
    factors = [_factor(spot.expected.values[0][time], [values[time] for values in spot.found.values]) for time in times]
    return all(one is not None and abs(one / k - 1) < _FACTOR_NEAR for one in factors)


def _scale(expected: Host, found: Host) -> float | None:
    """Returns the number k with found = k × expected; None where there is none, and for zeros."""
    size = float(np.sum(expected * expected)) if np.isfinite(expected).all() else 0.0
    if not size or not np.isfinite(found).all():
        return None
    k = float(np.sum(expected * found)) / size
    return k if k and is_near(expected * k, found) else None


def _of_one_shape(found: Sequence[Held]) -> bool:
    return len({tuple(leaf.shape for leaf in one.leaves) for one in found}) == 1


def _leaves(found: Sequence[Held]) -> list[tuple[Host, ...]]:
    return [one.leaves for one in found]


def _stream(spot: Spot) -> str:
    """Returns where the script returns an iterator over its data, as a clause; "" where it returns none."""
    found = next((one for one in spot.other[0] if one.text and one.name.endswith("__iter__()")), None)
    return "" if found is None else f", of which {found.name} returns the {found.text} at {found.site}"


def _same_data(spot: Spot) -> Held | None:
    """Returns the first value with rows that all replicas have as the reference has them, and share no further.

    Of rows that replicas share, as of a table, each has others under a later name. What has a gradient is a parameter.
    """
    trained = {one.name.removesuffix(_GRADIENT) for one in spot.other[0] if one.attribute.endswith(_GRADIENT)}
    same = None
    for expected, found in spot.both.values():
        one = found.values[0][0]
        rows = one.leaves[0] if len(one.leaves) == 1 else None
        if rows is None or not rows.ndim or found.first > spot.found.first or len(np.unique(rows)) < 2:
            continue
        if one.attribute or one.is_graded or one.name in trained:
            continue
        firsts = [values[0].leaves for values in found.values if values]
        if not all(all_near(firsts[0], leaves) for leaves in firsts[1:]):
            return None
        if same is None and all_near(expected.values[0][0].leaves, firsts[0]):
            same = one
    return same
