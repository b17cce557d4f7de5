"""The storage of a variable: its cells, written one by one or all at once.

Which values are written is decided in `variable.py`; what they sum to, in `reductions/arithmetic.py`. A write of
several cells that is interrupted between two of them is undone: a retry never finds some written and some not.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import final

from simstrategy.device import Array, Cell
from simstrategy.strategy.group import Group
from simstrategy.strategy.variables.identity import VariableIdentity
from simstrategy.trace import Site

__all__ = ["Storage"]


@final
class Storage:
    """The cells of one variable on this process's devices, in rank order, which begin with equal values.

    One cell, on the first device, where the replicas share it.
    """

    __slots__ = ("_backend", "_devices", "_identity", "_observer", "_reductions", "are_equal", "cells", "is_exposed")

    def __init__(self, group: Group, cells: tuple[Cell, ...], identity: VariableIdentity) -> None:
        self._backend = group.backend
        self._devices = group.local_devices[: len(cells)]
        self._reductions = group.reductions
        self._identity = identity
        self._observer = group.coordinator.observer
        if group.coordinator.observer is not None:
            group.coordinator.observer.wrote(identity, "create", (), cells)
        self.cells = cells
        self.are_equal = True
        """All components are equal because the same was done to all: an update may be computed once."""
        self.is_exposed = False
        """The program has a component's variable of the framework, and may write to it at any time."""

    def write_component(self, kind: str, index: int, array: Array, site: Site) -> None:
        """Writes one component alone.

        kind: assign, assign_add or assign_sub. array: [shape of the variable], on the component's device. site: of the
        program's call.
        """
        cell, observer = self.cells[index], self._observer
        before = [] if observer is None else observer.components((cell,))
        with self._backend.on(self._devices[index]):
            cell.write(self._applied(kind, index, array))
        self.are_equal = len(self.cells) == 1
        if observer is not None:
            alone = None if self.are_equal else self._devices[index].rank
            observer.wrote(self._identity, kind, before, (cell,), replica=alone, site=site)

    def write_in_update(
        self, kind: str, index: int, array: Array, site: Site, journal: "list[tuple[Storage, int, Array]] | None"
    ) -> None:
        """Writes one component in an update, and keeps in `journal` what it was; see `write_component`.

        array: [shape of the variable], on the component's device. journal: None where no update runs.
        """
        if journal is not None:
            journal.append((self, index, self.cells[index].read()))
        self.write_component(kind, index, array, site)

    def restore(self, index: int, array: Array) -> None:
        """Writes a component [shape of the variable] as it was before an update that has failed; raises nothing."""
        with suppress(Exception), self._backend.on(self._devices[index]):
            self.cells[index].write(array)

    def write_reduced(self, kind: str, op: str | None, deltas: tuple[Array, ...]) -> tuple[Array, ...] | None:
        """Writes every component with the SUM or MEAN of all ranks' arrays [variable's shape]; see `write_same`."""
        if self._writes_once(kind):
            return self.write_same(kind, (self._reductions.on_first(op, deltas),))
        return self.write_same(kind, self._reductions.all_reduce(op, deltas))

    def write_same(self, kind: str, arrays: Sequence[Array], site: Site | None = None) -> tuple[Array, ...] | None:
        """Writes every component with equal arrays; only the first is read where one memory holds all.

        arrays: [components] arrays of the variable's shape. site: of the program's call, where no synchronisation point
        has it. Returns in that case the new components.
        """
        share, observer = self._reductions.share, self._observer
        before = [] if observer is None else observer.components(self.cells)
        written: tuple[Array, ...] | None = None
        if share is None or not self._writes_once(kind):
            self._write(kind, arrays)
        else:
            # No device is entered: functions compute where their arguments are.
            value = self._applied(kind, 0, arrays[0])
            if kind == "assign":
                # The program may still write to its array; one that was computed here has no other reference.
                value = self._backend.put(value, self._devices[0])
            kept = () if self.are_equal else self.read_all()
            try:
                written = share(value, self.cells)
            except BaseException:
                self.undo(kept)
                raise
        self.are_equal = (self.are_equal or kind == "assign") and not self.is_exposed
        if observer is not None:
            observer.wrote(self._identity, kind, before, self.cells, site=site)
        return written

    def write_each(self, kind: str, arrays: Sequence[Array], site: Site | None = None) -> None:
        """Writes each component with another array [shape of the variable]: the components may differ from now on."""
        observer = self._observer
        before = [] if observer is None else observer.components(self.cells)
        self._write(kind, arrays)
        self.are_equal = len(self.cells) == 1
        if observer is not None:
            observer.wrote(self._identity, kind, before, self.cells, site=site)

    def expose(self) -> None:
        """Notes that the program may write to the cells itself: from now on the components may differ."""
        self.is_exposed = True
        self.are_equal = len(self.cells) == 1

    def mark_diverged(self) -> None:
        """Notes that a compiled program has written every cell: the components may differ from now on."""
        self.are_equal = len(self.cells) == 1

    def _writes_once(self, kind: str) -> bool:
        """Returns whether all components will be equal if the same is done to all, and one memory holds them."""
        return self._reductions.share is not None and (self.are_equal or kind == "assign")

    def _write(self, kind: str, arrays: Sequence[Array]) -> None:
        kept = () if self.are_equal else self.read_all()
        try:
            for index, (cell, device) in enumerate(zip(self.cells, self._devices, strict=True)):
                with self._backend.on(device):
                    cell.write(self._applied(kind, index, arrays[index]))
        except BaseException:
            self.undo(kept)
            raise

    def read_all(self) -> tuple[Array, ...]:
        """Returns every component [shape of the variable], for `undo`."""
        return tuple([cell.read() for cell in self.cells])

    def undo(self, before: Sequence[Array]) -> None:
        """Writes every component as it was before a write that has failed: an exception may leave some written.

        before: every component [shape of the variable]; () where all were equal, and the cells are written in order. An
        interrupt after the last write leaves all of them new. Raises nothing: the exception of the write is the one to
        be seen.
        """
        if len(self.cells) == 1:
            return
        try:
            values = before or [self._backend.put(self.cells[-1].read(), device) for device in self._devices]
            for cell, device, value in zip(self.cells, self._devices, values, strict=True):
                with self._backend.on(device):
                    cell.write(value)
        except Exception:  # noqa: BLE001 - of any framework, such as one whose device has failed
            self.are_equal = False

    def _applied(self, kind: str, index: int, array: Array) -> Array:
        if kind == "assign":
            return array
        xp = self._backend.xp
        function: Callable[[Array, Array], Array] = xp.add if kind == "assign_add" else xp.subtract
        return function(self.cells[index].read(), array)
