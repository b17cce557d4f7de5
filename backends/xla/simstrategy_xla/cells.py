"""A variable's storage: an array of its own, or a rank's part of what a program wrote for all ranks.

Such a part is taken out of the whole only when somebody reads it: the next step takes the whole. Programs are made
elsewhere.
"""

from collections.abc import Callable, Sequence
from typing import Any, final

from simstrategy.device import Array, Cell
from simstrategy_xla.namespace import committed, require_values

__all__ = ["Parts", "XlaCell", "hold", "whole_of"]


@final
class Parts:
    """An array over all ranks, and what cuts it into theirs, once and not before it is wanted."""

    __slots__ = ("_arrays", "_cut", "whole")

    def __init__(self, whole: Array, cut: Callable[[], tuple[Array, ...]]) -> None:
        self.whole = whole
        self._cut = cut
        self._arrays: tuple[Array, ...] = ()

    @property
    def arrays(self) -> tuple[Array, ...]:
        """The local ranks' arrays, in rank order."""
        if not self._arrays:
            self._arrays = self._cut()
        return self._arrays


@final
class XlaCell:
    """A variable's storage.  `native` is its present value, a jax.Array: what `jax.grad` and optimizers take."""

    __slots__ = ("_value", "held")

    def __init__(self, initial: Array) -> None:
        self.held: tuple[Parts, int] | None = None
        """What the value is part of, and which; None for an array of its own."""
        self._value: Array | None = None
        self.write(initial)

    @property
    def native(self) -> Array:
        return self.read()

    def read(self) -> Array:
        if self._value is None and self.held is not None:
            parts, index = self.held
            self._value = parts.arrays[index]
        return self._value

    def write(self, value: Array) -> None:
        require_values((value,), "writing a variable")
        self._value, self.held = committed(value), None

    def hold(self, parts: Parts, index: int) -> None:
        """Makes a rank's part the value."""
        self._value, self.held = None, (parts, index)


def hold(cells: Sequence[Cell], parts: Parts) -> None:
    """Writes every rank's part to its cell."""
    for index, cell in enumerate(cells):
        if type(cell) is XlaCell:
            cell.hold(parts, index)
        else:
            cell.write(parts.arrays[index])  # another's cell around one of these


def whole_of(cells: Sequence[Any]) -> Array | None:
    """Returns the array that the values of all cells are the parts of, or None where there is none."""
    first = cells[0].held if type(cells[0]) is XlaCell else None
    if first is None:
        return None
    parts = first[0]
    for index, cell in enumerate(cells):
        held = cell.held if type(cell) is XlaCell else None
        if held is None or held[0] is not parts or held[1] != index:
            return None
    return parts.whole
