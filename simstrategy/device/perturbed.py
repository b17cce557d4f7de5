"""A backend whose inputs are moved by one unit in the last place (ulp), to measure how sensitive a program is.

Every float that enters through `put` moves to its neighbour, up or down by a fixed pattern. The change of the result
is the smallest difference between two backends that means anything; `simstrategy.check` uses it.
"""

from typing import final

import numpy as np

from simstrategy.device.protocol import Backend
from simstrategy.device.terms import Array, Device
from simstrategy.device.wrapper import Wrapper

__all__ = ["UlpPerturbed", "perturb"]


def perturb(value: np.ndarray, pattern: int) -> np.ndarray:
    """Returns a float array […] with each finite, non-zero element moved to its neighbour; others as they are.

    pattern: chooses, together with an element's index, between up and down; every pattern is as good as
    a throw of coins, and always the same. Zeros stay, because their neighbours are subnormal: no rounding
    error ever looks like them. So does the largest number where its neighbour is infinity.
    """
    if value.dtype.kind != "f":
        return value
    # Multiplicative hashing of the index: the high bits of a product with 2**64 / golden ratio.
    mixed = (np.arange(value.size, dtype=np.uint64) + np.uint64(pattern * 7919)) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    upward = ((mixed >> np.uint64(40)) & np.uint64(1)).astype(bool).reshape(value.shape)
    with np.errstate(all="ignore"):  # of the ends of the range, where neighbours are infinite or subnormal
        moved = np.nextafter(value, np.where(upward, np.inf, -np.inf).astype(value.dtype))
    movable = (value != 0) & np.isfinite(value) & np.isfinite(moved)
    return np.asarray(np.where(movable, moved, value), value.dtype)


@final
class UlpPerturbed(Wrapper):
    """A backend that moves host data on its way to the backend inside it."""

    __slots__ = ("_pattern",)

    def __init__(self, inner: Backend, pattern: int) -> None:
        Wrapper.__init__(self, inner)
        self._pattern = pattern

    def put(self, value: np.ndarray | Array, device: Device) -> Array:
        if isinstance(value, np.ndarray) and not isinstance(value, self.array_types):
            return self._inner.put(perturb(value, self._pattern), device)
        return self._inner.put(value, device)
