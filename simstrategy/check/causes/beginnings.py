"""Parameters that begin with other values than the reference's, or on some replicas with other ones."""

from typing import Final

import numpy as np

from simstrategy.check.causes.alignment import Pair
from simstrategy.check.causes.combination import Combination, differing
from simstrategy.check.causes.facts import DRAWS, SCALED, Finding, Host
from simstrategy.check.causes.rounding import all_alike, wide

__all__ = ["begins_otherwise"]

_NEAR: Final = 1e-5
_REMEDY: Final = "Give all replicas the values of one of them, as by a broadcast, or draw them from one seed"


def begins_otherwise(pair: Pair, counts: tuple[int, int]) -> Finding:
    """Recognises why parameters begin with other values.  counts: the numbers of replicas, the reference's first.

    Numbers that are drawn are not all the reference's times one number, and not one constant in place of another one.
    """
    assert pair.other is not None
    assert pair.one is not None
    inputs = pair.other.inputs
    others = [rank for rank, leaves in enumerate(inputs) if not all_alike(inputs[0], leaves, pair.one.units)]
    if others:
        ranks = f"rank{'s' if len(others) > 1 else ''} {', '.join(map(str, others))}"
        return Finding(DRAWS, f"{ranks} begin{'' if len(others) > 1 else 's'} with other values than rank 0", _REMEDY)
    changed = [_changed(pair.one, number) for number in differing(pair.one)]
    ratio = counts[1] / counts[0]
    if ratio != 1 and all(np.allclose(found, ratio * expected, _NEAR, 0) for expected, found in changed):
        reason = f"all replicas begin with {ratio:.6g} times the reference's values, the number of replicas"
        return Finding(SCALED, reason, "Remove the factor", factor=ratio)
    if all(len(found) > 1 and not np.ptp(found) and not np.ptp(expected) for expected, found in changed):
        return Finding(None, "all replicas begin with other constants than the reference")
    return Finding(DRAWS, "all replicas begin with values that are not the reference's", "Draw them from one seed")


def _changed(one: Combination, number: int) -> tuple[Host, Host]:
    """Returns the elements of a leaf that differ beyond rounding, [elements] each: the reference's, and the others."""
    expected, found = wide(one.expected[number]).reshape(-1), wide(one.found[number]).reshape(-1)
    apart = np.abs(found - expected) > _NEAR * np.abs(expected).max(initial=0)
    return expected[apart], found[apart]
