"""A variable's storage: an array of its own, or a rank's part of what a program wrote for all ranks.

Such a part is taken out of the whole only when it is read: the next step takes the whole. Programs are made
elsewhere.
"""

from collections.abc import Callable, Sequence
from typing import Any, final

import jax

from simstrategy.device import Cell
from simstrategy_xla.namespace import committed, require_values

__all__ = ["Parts", "XlaCell", "hold", "whole_of"]

JaxCell = Cell[jax.Array]


@final
class Parts:
    """An array over all ranks, and what cuts it into theirs, once: when it is wanted, or early."""

    __slots__ = ("_arrays", "_cut", "whole")

    def __init__(self, whole: jax.Array, cut: Callable[[], tuple[jax.Array, ...]]) -> None:
        self.whole = whole
        self._cut = cut
        self._arrays: tuple[jax.Array, ...] = ()

    @property
    def arrays(self) -> tuple[jax.Array, ...]:
        """The local ranks' arrays, in rank order."""
        if not self._arrays:
            self._arrays = self._cut()
        return self._arrays

    def cut_early(self) -> None:
        """Cuts the array although it may have no values yet; not one without elements, which takes a program."""
        if self.whole.size:
            self._arrays = self._cut()


@final
class _Shelf:
    """Where the cells of one variable hold their parts of a whole together, until one is written alone."""

    __slots__ = ("cells", "is_whole", "parts")

    def __init__(self, cells: Sequence[JaxCell], parts: Parts) -> None:
        self.cells = cells
        self.parts = parts
        self.is_whole = True
        """No cell has left: all of them together are `parts`."""


@final
class XlaCell:
    """A variable's storage.  `native` is its present value, a jax.Array: what `jax.grad` and optimizers take."""

    __slots__ = ("_index", "_value", "shelf")

    def __init__(self, initial: jax.Array) -> None:
        self.shelf: _Shelf | None = None
        """What the value is part of; None for an array of its own."""
        self._index = 0
        self.write(initial)

    @property
    def native(self) -> jax.Array:
        return self.read()

    def read(self) -> jax.Array:
        own: jax.Array = self._value if self.shelf is None else self.shelf.parts.arrays[self._index]
        return own

    def write(self, value: jax.Array) -> None:
        require_values((value,), "writing a variable")
        if self.shelf is not None:
            self.shelf.is_whole = False
        self._value: Any = committed(value)
        self.shelf = None

    def put_on(self, shelf: "_Shelf", index: int) -> None:
        """Makes a rank's part the value."""
        if self.shelf is not None:
            self.shelf.is_whole = False
        self._value, self.shelf, self._index = None, shelf, index


def hold(cells: Sequence[JaxCell], parts: Parts) -> None:
    """Writes every rank's part to its cell."""
    shelf = _shelf_of(cells)
    if shelf is not None:
        shelf.parts = parts
        return
    shelf = _Shelf(cells, parts)
    for index, cell in enumerate(cells):
        if type(cell) is XlaCell:
            cell.put_on(shelf, index)
        else:  # another's cell around one of these
            shelf.is_whole = False
            cell.write(parts.arrays[index])


def whole_of(cells: Sequence[JaxCell]) -> jax.Array | None:
    """Returns the array that the values of all cells are the parts of, or None where there is none."""
    shelf = _shelf_of(cells)
    return None if shelf is None else shelf.parts.whole


def _shelf_of(cells: Sequence[JaxCell]) -> _Shelf | None:
    """Returns the shelf of just these cells, all of which are on it."""
    first = cells[0]
    shelf = first.shelf if type(first) is XlaCell else None
    return shelf if shelf is not None and shelf.cells is cells and shelf.is_whole else None
