"""Where a variable's components are, and the writing of them: each on its device, or all at once.

It carries out what `variable.py` decided; whose value counts and how replicas' values become one is no
business of its.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, final

from simstrategy.device import Array, Cell

if TYPE_CHECKING:
    from simstrategy.strategy.engine import Engine

__all__ = ["Storage"]


@final
class Storage:
    """The cells of one variable on this process's devices, in rank order, which begin with equal values.

    One cell, on the first device, where the replicas share it.
    """

    __slots__ = ("_backend", "_devices", "_reductions", "cells", "is_coherent")

    def __init__(self, engine: "Engine", cells: tuple[Cell, ...]) -> None:
        self._backend = engine.backend
        self._devices = engine.local_devices[: len(cells)]
        self._reductions = engine.reductions
        self.cells = cells
        self.is_coherent = True
        """All components are equal because the same was done to all: an update may be computed once."""

    def write_own(self, kind: str, index: int, array: Array) -> None:
        """Writes one component alone.  kind: assign, assign_add or assign_sub."""
        with self._backend.on(self._devices[index]):
            self.cells[index].write(self._applied(kind, index, array))
        self.is_coherent = len(self.cells) == 1

    def write_reduced(self, kind: str, op: str | None, deltas: tuple[Array, ...]) -> tuple[Array, ...] | None:
        """Writes every component with the SUM or MEAN of all ranks' arrays; see `write_equal`."""
        if self._writes_once(kind):
            return self.write_equal(kind, (self._reductions.on_first(op, deltas),))
        return self.write_equal(kind, self._reductions.all_reduce(op, deltas))

    def write_equal(self, kind: str, arrays: Sequence[Array]) -> tuple[Array, ...] | None:
        """Writes every component with equal arrays; only the first is looked at where one memory holds all.

        Returns then what the replicas read from now on, each on its device.
        """
        share = self._reductions.share
        written: tuple[Array, ...] | None = None
        if share is None or not self._writes_once(kind):
            self._write(kind, arrays)
        else:
            # No device is entered: functions compute where their arguments are.
            value = self._applied(kind, 0, arrays[0])
            if kind == "assign":
                # The program may still write to what it gave; what was computed here is nobody else's.
                value = self._backend.put(value, self._devices[0])
            written = share(value, self.cells)
        self.is_coherent = self.is_coherent or kind == "assign"
        return written

    def write_different(self, kind: str, arrays: Sequence[Array]) -> None:
        """Writes every component with an array of its own, from which on they may differ."""
        self._write(kind, arrays)
        self.is_coherent = len(self.cells) == 1

    def replaced(self) -> None:
        """Is told that a program has written every cell, from which on they may differ."""
        self.is_coherent = len(self.cells) == 1

    def _writes_once(self, kind: str) -> bool:
        """Tells whether all components will be equal if the same is done to all, and one memory holds them."""
        return self._reductions.share is not None and (self.is_coherent or kind == "assign")

    def _write(self, kind: str, arrays: Sequence[Array]) -> None:
        for index, (cell, device) in enumerate(zip(self.cells, self._devices, strict=True)):
            with self._backend.on(device):
                cell.write(self._applied(kind, index, arrays[index]))

    def _applied(self, kind: str, index: int, array: Array) -> Array:
        if kind == "assign":
            return array
        xp = self._backend.xp
        function: Callable[[Array, Array], Array] = xp.add if kind == "assign_add" else xp.subtract
        return function(self.cells[index].read(), array)
