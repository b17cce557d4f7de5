"""What a backend may have besides the contract, so that the core does less.

No backend needs them: where one has none, the core asks what every backend has.
"""

from typing import Protocol

from simstrategy.device.protocol import Array, Cell

__all__ = ["Forms", "UnifiedMemory"]


class UnifiedMemory(Protocol):
    """What a backend with `Capabilities.unified_memory` has besides a `Backend`'s calls."""

    def share(self, array: Array, cells: tuple[Cell, ...] = ()) -> tuple[Array, ...]:
        """Returns an array on every local device without a copy, read-only; the caller gives `array` away.

        cells: of the first devices, in their order; each is written with the one on its device.
        """
        ...


class Forms(Protocol):
    """A quicker look at an array, for the checks of every collective."""

    def form(self, array: Array) -> object:
        """Returns anything hashable that is equal for two arrays only where their `spec` is, and mostly there."""
        ...
