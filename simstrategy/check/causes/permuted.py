"""Recognises rows in another order than in the reference, beside others that are in the reference's order."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from simstrategy.check.causes.facts import ORDER, Finding, Host
from simstrategy.check.causes.held import Held, companions, is_near, rows_of
from simstrategy.check.causes.rounding import wide
from simstrategy.check.causes.row_order import DISTINCT_MIN
from simstrategy.check.causes.spots import Fault, Spot

__all__ = ["by_permuted"]

_REMEDY: Final = "Put the rows into the order of the data, such as by their numbers, before others stand beside them"


def by_permuted(spot: Spot) -> Fault | None:
    """Returns rows that all replicas hold in another order than the reference, beside rows in the reference's order.

    Both are looked for among what the names of the same call hold when the value of the spot is computed: they have
    equally many rows. The fault is the first value of the run that is these rows.  Clause: G-90.
    """
    expected = companions(spot.reference, 0, _last(spot))
    ranks = [companions(spot.other, rank, values[-1]) for rank, values in enumerate(spot.found.values) if values]
    if len(ranks) < len(spot.found.values):
        return None
    for name, one in expected.items():
        found = [held[name] for held in ranks if name in held]
        if len(found) < len(ranks) or not _is_permuted(one, found):
            continue
        beside = [
            other
            for other in expected
            if other != name and all(_is_beside(one, expected[other], held.get(other)) for held in ranks)
        ]
        if beside:
            reason = (
                f"all replicas hold the rows of {name!r} in another order than the reference, and the rows of "
                f"{beside[0]!r}, which stand beside them, in the same order"
            )
            return Fault(_earliest(spot.other[0], found[0]), Finding(ORDER, reason, _REMEDY))
    return None


def _last(spot: Spot) -> Held:
    return spot.expected.values[0][-1]


def _is_permuted(expected: Held, found: Sequence[Held]) -> bool:
    """Returns whether values have all rows of the reference's, each of them different, in one other order."""
    if len(expected.leaves) != 1 or any(len(one.leaves) != 1 for one in found):
        return False
    leaf, others = expected.leaves[0], [one.leaves[0] for one in found]
    if leaf.dtype.kind != "f" or not leaf.ndim or not np.isfinite(wide(leaf)).all():
        return False
    if len(np.unique(wide(leaf).reshape(len(leaf), -1), axis=0)) < max(DISTINCT_MIN, len(leaf)):
        return False
    rows = rows_of((leaf,))
    return all(
        one.shape == leaf.shape
        and not is_near(leaf, one)
        and is_near(others[0], one)
        and is_near(rows, rows_of((one,)))
        for one in others
    )


def _is_beside(permuted: Held, expected: Held, found: Held | None) -> bool:
    """Returns whether a value has as many rows as another one, and the reference's rows in the reference's order."""
    if found is None or len(expected.leaves) != 1 or len(found.leaves) != 1:
        return False
    leaf, other = expected.leaves[0], found.leaves[0]
    count = len(permuted.leaves[0])
    return bool(leaf.ndim) and len(leaf) == count and is_near(leaf, other) and not _is_uniform(leaf)


def _is_uniform(leaf: Host) -> bool:
    """Returns whether all rows are one: their order shows nowhere."""
    return bool((leaf == leaf[:1]).all())


def _earliest(values: Sequence[Held], wanted: Held) -> Held:
    leaf = wanted.leaves[0]
    alike = (one for one in values if len(one.leaves) == 1 and is_near(leaf, one.leaves[0]))
    return next((one for one in alike if one.leaves[0].shape == leaf.shape), wanted)
