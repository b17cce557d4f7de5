"""Recognises a function of each replica's own value, which is combined after it and not before."""

from collections.abc import Callable
from typing import Final

import numpy as np

from simstrategy.check.causes.facts import FUNCTION, Finding, Host
from simstrategy.check.causes.rounding import wide
from simstrategy.check.causes.spots import Spot

__all__ = ["by_function"]

_FUNCTIONS: Final[tuple[tuple[str, Callable[[Host], Host], Callable[[Host], Host]], ...]] = (
    ("an exponential", np.log, np.exp),
    ("a logarithm", np.exp, np.log),
    ("a root", np.square, np.sqrt),
    ("a square", np.sqrt, np.square),
    ("a reciprocal", np.reciprocal, np.reciprocal),
)
"""What was applied, its inverse, and itself."""
_NEAR: Final = 2e-6
"""How near the numbers have to be, relatively: a few units of float32."""
_REMEDY: Final = "Combine the values of all replicas first, and apply it then"


def by_function(spot: Spot) -> Finding | None:
    """Recognises values f(x), where f of the mean, or of the sum, of all replicas' x is the reference's, at all times.

    At least two numbers are compared, since one alone may be so by chance, and those of the replicas differ.
    Clause: G-92.
    """
    expected, found = _numbers(spot)
    if expected is None or found is None or expected.size < 2 or np.ptp(found, axis=0).max() == 0:
        return None
    for name, inverse, function in _FUNCTIONS:
        for how, divisor in (("mean", len(found)), ("sum", 1)):
            with np.errstate(all="ignore"):
                combined = function(inverse(found).sum(axis=0) / divisor)
            if _is_near(expected, combined):
                reason = (
                    f"it is {name} of each replica's own value, and the reference's is that of the {how} of these "
                    f"values over the replicas"
                )
                return Finding(FUNCTION, reason, _REMEDY)
    return None


def _numbers(spot: Spot) -> tuple[Host | None, Host | None]:
    """Returns the reference's numbers [times × elements], and the replicas' [replicas, times × elements]."""
    times = spot.expected.times
    if times is None or times != spot.found.times or len(spot.expected.values) != 1 or len(spot.found.values) < 2:
        return None, None
    rows = [
        [wide(leaf).reshape(-1) for one in values for leaf in one.leaves if leaf.dtype.kind == "f"]
        for values in (*spot.expected.values, *spot.found.values)
    ]
    flat = [np.concatenate(row) if row else np.zeros(0) for row in rows]
    if len({one.shape for one in flat}) > 1:
        return None, None
    return flat[0], np.stack(flat[1:])


def _is_near(expected: Host, found: Host) -> bool:
    if not np.isfinite(found).all() or not np.isfinite(expected).all():
        return False
    return bool((np.abs(expected - found) <= _NEAR * np.abs(expected)).all())
