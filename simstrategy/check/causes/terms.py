"""Recognises a sum of two values of which one counts more often than in the reference, such as an auxiliary loss."""

from collections.abc import Sequence
from itertools import combinations
from typing import Final

import numpy as np

from simstrategy.check.causes.facts import FACTOR, Finding, Host
from simstrategy.check.causes.held import Held, Run, companions
from simstrategy.check.causes.rounding import wide
from simstrategy.check.causes.spots import Spot

__all__ = ["by_terms"]

_NEAR: Final = 1e-3
_EQUATIONS_MIN: Final = 3
"""The fewest values of a sum of two terms that prove its two weights."""

Terms = tuple[Host, Host, Host]
"""The values of a sum and of two others, [n] each."""


def by_terms(spot: Spot) -> Finding | None:
    """Looks for two names of the same call that give the value as a weighted sum, in both runs with other weights."""
    if not spot.one.is_scalar:
        return None
    sides = [_calls(run, spot.one) for run in (spot.reference, spot.other)]
    names = set.intersection(*[set(held) for side in sides for _, held, _ in side]) if all(sides) else set()
    for pair in combinations(sorted(names - {spot.one.name}), 2):
        finding = _of_pair([_terms(side, pair) for side in sides], pair, spot.counts)
        if finding is not None:
            return finding
    return None


def _calls(run: Run, one: Held) -> list[tuple[float, dict[str, float], int]]:
    """Returns for each time at which a name was set its value, the numbers of the same call, and the replica."""
    found = []
    for rank, values in enumerate(run):
        for other in values:
            if other.key == one.key and other.is_scalar:
                near = companions(run, rank, other)
                numbers = {name: _number(held) for name, held in near.items() if held.is_scalar and held.is_float}
                found.append((_number(other), numbers, rank))
    return found


def _number(held: Held) -> float:
    return float(wide(held.leaves[0]).reshape(-1)[0])


def _terms(side: Sequence[tuple[float, dict[str, float], int]], pair: tuple[str, str]) -> Terms:
    rows = [(value, numbers[pair[0]], numbers[pair[1]]) for value, numbers, _ in side]
    columns = np.asarray(rows, np.float64).T
    return columns[0], columns[1], columns[2]


def _of_pair(sides: Sequence[Terms], pair: tuple[str, str], counts: tuple[int, int]) -> Finding | None:
    weights = [_weights(*side) for side in sides]
    if weights[0] is None or weights[1] is None:
        return None
    # The first turn has the same state in both runs: by how much each term's mean over the replicas is another one.
    scales = []
    for number in (1, 2):
        one, other = [side[number].reshape(count, -1)[:, 0].mean() for side, count in zip(sides, counts, strict=True)]
        scales.append(other / one if one else 0.0)
    factors = [scale * new / old for scale, old, new in zip(scales, weights[0], weights[1], strict=True)]
    wrong = [number for number in (0, 1) if abs(factors[number] - 1) > _NEAR]
    if len(wrong) != 1 or not np.isfinite(factors).all():
        return None
    other = wrong[0]
    reason = (
        f"it is a weighted sum of {pair[0]} and {pair[1]}, in which {pair[other]} counts {factors[other]:.6g} times as "
        f"much as in the reference, and {pair[1 - other]} as much as there"
    )
    return Finding(FACTOR, reason, f"Apply the factor to {pair[1 - other]} alone")


def _weights(whole: Host, first: Host, second: Host) -> tuple[float, float] | None:
    """Returns the weights of two terms that give all values of a sum; None where there are none, or others as well."""
    matrix = np.stack([first, second], axis=1)
    if len(whole) < _EQUATIONS_MIN or np.linalg.matrix_rank(matrix, tol=1e-5 * float(np.abs(matrix).max())) < 2:
        return None
    found, *_ = np.linalg.lstsq(matrix, whole, rcond=None)
    if np.abs(matrix @ found - whole).max() > 1e-5 * np.abs(whole).max() or (np.abs(found) < 1e-6).any():
        return None
    return float(found[0]), float(found[1])
