"""Recognises means over unequal parts, by numbers beside them with which they give the reference's mean."""

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from simstrategy.check.causes.facts import MEAN_OF_MEANS, Finding, Host
from simstrategy.check.causes.held import Held, attributes, companions, is_near
from simstrategy.check.causes.rounding import wide
from simstrategy.check.causes.spots import Spot
from simstrategy.check.causes.standing import turns_of

__all__ = ["is_weighted"]


def is_weighted(spot: Spot) -> Finding | None:
    """Recognises means over unequal parts, by numbers of rows with which they give the reference's mean."""
    sides = _sides(spot)
    found = _weights_of(spot, sides) or _counts_of(spot, sides)
    if found is None:
        return None
    name, sizes = found
    listed = ", ".join(str(size) for size in sizes[:8]) + (", …" if len(sizes) > 8 else "")
    reason = (
        f"it is a mean over unequal parts: {name!r} counts {listed} there, and weighted by that the values give the "
        f"reference's mean"
    )
    remedy = "Multiply by the size of the part, add, and divide by the size of the whole"
    return Finding(MEAN_OF_MEANS, reason, remedy)


_LEFT: Final = 0.02
"""The share of what means without weights are apart that right weights may leave: an earlier state is rounded."""
_ROUNDED: Final = 2.0**-21
"""How far the rounding of float32 may leave two means apart, relatively."""

Measure = Callable[[Held], int | None]
"""What a mean may have been divided by, of a value that stands beside it; None where that is no number."""

Side = Sequence[tuple[int, Held]]
"""The values of one run that are compared, each with its replica."""


def _sides(spot: Spot) -> list[Side]:
    """Returns the values of both runs: of the turn that differs, where turns belong together."""
    sides = [
        [(rank, one) for rank, held in enumerate(history.values) for one in held]
        for history in (spot.expected, spot.found)
    ]
    turns = turns_of(spot.expected, spot.found)
    if turns is None:
        return [*sides]
    # Later turns may follow from a wrong update.
    pair = turns[min(spot.time // len(turns[0][1]), len(turns) - 1)]
    chosen: list[Side] = []
    for side, values in zip(sides, pair, strict=True):
        here = [leaves for of_ranks in values for leaves in of_ranks]
        chosen.append([(rank, one) for rank, one in side if any(one.leaves is leaves for leaves in here)])
    return chosen


def _weights_of(spot: Spot, sides: Sequence[Side]) -> tuple[str, list[int]] | None:
    """Returns a name of the same call whose sizes are the weights that give the reference's mean, and the sizes."""
    beside = [
        [companions(run, rank, one) for rank, one in side]
        for run, side in zip((spot.reference, spot.other), sides, strict=True)
    ]
    names = set.intersection(*[set(held) for side in beside for held in side]) if all(beside) else set()
    nearest: tuple[float, str, list[int]] | None = None
    for name in sorted(names - {spot.one.name}):
        for measure in _MEASURES:
            known = _known([[measure(held[name]) for held in side] for side in beside])
            apart = None if known is None else _apart(sides, known)
            if known is not None and apart is not None and (nearest is None or apart < nearest[0]):
                nearest = apart, name, known[1]
    return None if nearest is None else nearest[1:]


def _counts_of(spot: Spot, sides: Sequence[Side]) -> tuple[str, list[int]] | None:
    """Returns an attribute of an object that counts what each replica has, such as a dictionary of counters.

    Such numbers stand further away than names of the same call, so they have to prove more: over all replicas they are
    as many as in the reference.
    """
    kept = [
        [attributes(run, rank, one) for rank, one in side]
        for run, side in zip((spot.reference, spot.other), sides, strict=True)
    ]
    names = set.intersection(*[set(held) for side in kept for held in side]) if all(kept) else set()
    for name in sorted(names):
        for place in range(min(len(held[name].leaves) for side in kept for held in side)):
            known = _known([[_number(held[name], place) for held in side] for side in kept])
            if known is not None and sum(known[0]) == sum(known[1]) and _apart(sides, known) is not None:
                return name, known[1]
    return None


def _known(sizes: Sequence[Sequence[int | None]]) -> list[list[int]] | None:
    """Returns the sizes of both runs, where all of them are some and they are not all equal."""
    if any(size is None or size < 0 for side in sizes for size in side):
        return None
    known = [[int(size or 0) for size in side] for side in sizes]
    return None if len({*known[0], *known[1]}) < 2 or not sum(known[0]) or not sum(known[1]) else known


def _apart(sides: Sequence[Side], sizes: Sequence[Sequence[int]]) -> float | None:
    """Returns how far the means of both runs, weighted by sizes, are apart; None where the sizes do not explain it.

    Parts with nearly equal values have nearly the reference's mean with any weights. Sizes explain it where they leave
    a small share of what the means without them are apart.
    """
    values = [[held for _, held in side] for side in sides]
    one, other = [_mean(some, weights) for some, weights in zip(values, sizes, strict=True)]
    if one is None or other is None or not is_near(one, other):
        return None
    plain = _mean(values[1], [1] * len(values[1]))
    assert plain is not None
    with np.errstate(all="ignore"):
        found, without = [float(np.nanmax(np.abs(one - some), initial=0)) for some in (other, plain)]
        size = float(np.nanmax(np.abs(one), initial=0))
    return found if found <= max(_LEFT * without, _ROUNDED * size) else None


def _number(held: Held, place: int) -> int | None:
    """Returns one number of a value, where it is a whole one."""
    leaf = held.leaves[place]
    return int(leaf) if leaf.ndim == 0 and leaf.dtype.kind in "iu" else None


def _size(held: Held) -> int | None:
    first = held.leaves[0]
    if len(held.leaves) == 1 and first.ndim == 0 and first.dtype.kind in "iu":
        return int(first)
    return len(first) if first.ndim else None


def _total(held: Held) -> int | None:
    """Returns the sum of an array of whole numbers that are not negative, such as a mask."""
    leaf = held.leaves[0]
    if len(held.leaves) > 1 or not leaf.ndim or (wide(leaf) < 0).any() or (wide(leaf) != np.round(wide(leaf))).any():
        return None
    return int(wide(leaf).sum())


def _not_negative(held: Held) -> int | None:
    """Returns how many whole numbers of an array are not negative, as labels that are not ignored."""
    leaf = held.leaves[0]
    if len(held.leaves) > 1 or not leaf.ndim or leaf.dtype.kind != "i" or not (leaf < 0).any():
        return None
    return int((leaf >= 0).sum())


def _following(measure: Measure) -> Measure:
    """Returns the measure of all columns but the first, as of labels that each stand for the element after another."""

    def measured(held: Held) -> int | None:
        leaf = held.leaves[0]
        if len(held.leaves) > 1 or leaf.ndim < 2 or leaf.shape[1] < 2:
            return None
        return measure(held._replace(leaves=(leaf[:, 1:],)))

    return measured


_MEASURES: Final = (_size, _total, _not_negative, _following(_total), _following(_not_negative))
"""What a mean may have been divided by, of a value that stands beside it."""


def _mean(values: Sequence[Held], sizes: Sequence[int]) -> Host | None:
    if len({tuple(leaf.shape for leaf in one.leaves) for one in values}) != 1:
        return None
    flat = [np.concatenate([wide(leaf).reshape(-1) for leaf in one.leaves]) for one in values]
    return np.asarray(sum(one * size for one, size in zip(flat, sizes, strict=True) if size) / sum(sizes))
