"""A backend whose inputs are moved by one unit in the last place: how sensitive is a program?

Every float that enters through `put` moves to its neighbour, up, down, or by turns. What that does to a
result is the smallest difference that means anything between two backends; `simstrategy.check` uses it.
"""

from typing import Literal, final

import numpy as np

from simstrategy.device.protocol import Array, Backend, Device
from simstrategy.device.wrapper import Wrapper

__all__ = ["Nudge", "Nudged", "nudge"]

Nudge = Literal["up", "down", "alternate"]


def nudge(value: np.ndarray, direction: Nudge) -> np.ndarray:
    """Returns a float array with each finite, non-zero element moved to its neighbour; others as they are.

    Zeros stay, because their neighbours are subnormal: no rounding error ever looks like them.
    """
    if value.dtype.kind != "f":
        return value
    targets = {"up": np.inf, "down": -np.inf}
    if direction == "alternate":
        target = np.where(np.arange(value.size).reshape(value.shape) % 2 == 0, np.inf, -np.inf).astype(value.dtype)
    else:
        target = np.asarray(targets[direction], value.dtype)
    moved = np.nextafter(value, target)
    return np.asarray(np.where((value != 0) & np.isfinite(value), moved, value), value.dtype)


@final
class Nudged(Wrapper):
    """A backend that moves host data on its way to the backend inside it."""

    __slots__ = ("_direction",)

    def __init__(self, inner: Backend, direction: Nudge) -> None:
        Wrapper.__init__(self, inner)
        self._direction: Nudge = direction

    def put(self, value: np.ndarray | Array, device: Device) -> Array:
        host = isinstance(value, np.ndarray) and not isinstance(value, self.array_types)
        return self._inner.put(nudge(value, self._direction) if host else value, device)
