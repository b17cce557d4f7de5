"""Stacks rows to batches: each row is copied into the batch at once, so that none is kept.  No rule of splitting."""

from collections.abc import Iterator
from itertools import islice
from typing import Final, final

import numpy as np

from simstrategy import tree
from simstrategy.data.elements import TEXTS, Element, Host, dtype_name
from simstrategy.errors import InvalidArgument

__all__ = ["batches_of"]

_FIRST_BYTES_MAX: Final = 1 << 28
"""How much a batch is given before its first row, at most: a batch size may be any number."""


def batches_of(rows: Iterator[Element], size: int, drop_remainder: bool) -> Iterator[Element]:
    """Yields batches [size, …] of elements […], the last one of what is left; each row is used before the next is read.

    Raises InvalidArgument for elements of different structure, shape or dtype.
    """
    for first in rows:
        leaves, structure = tree.flatten(first)
        columns = [_Column(leaf, size) for leaf in leaves]
        count, capacity = 1, min((column.capacity for column in columns), default=size)
        for row in islice(rows, size - 1):
            found, other = ([row], None) if type(row) is np.ndarray else tree.flatten(row)
            if other != structure:
                raise InvalidArgument(
                    f"batch cannot stack elements of different structure: {tree.describe(structure, [])} and "
                    f"{tree.describe(other, [])}. All elements need the same containers and keys."
                )
            if count == capacity:
                capacity = min(size, 2 * count)
                for column in columns:
                    column.grow(count, capacity)
            # The checks stand here: they run for every row.
            for column, leaf in zip(columns, found, strict=True):
                if leaf.shape != column.shape or leaf.dtype is not column.dtype:
                    column.check(leaf)
                column.rows[count] = leaf
            count += 1
        if count == size or not drop_remainder:
            yield tree.refill(first, structure, [column.array(count) for column in columns])


@final
class _Texts:
    """Rows of texts, whose length the longest one decides.  The pipeline has copied them already."""

    __slots__ = ("held",)

    def __init__(self) -> None:
        self.held: list[Host] = []

    def __setitem__(self, _: int, row: Host) -> None:
        self.held.append(row)


@final
class _Column:
    """The rows of one array of the elements; `rows[i] = row` copies row i."""

    __slots__ = ("capacity", "dtype", "rows", "shape")

    def __init__(self, leaf: Host, size: int) -> None:
        self.shape, self.dtype = leaf.shape, leaf.dtype
        self.rows: Host | _Texts
        if leaf.dtype.kind in TEXTS:
            self.rows, self.capacity = _Texts(), size
        else:
            self.capacity = min(size, max(1, _FIRST_BYTES_MAX // max(1, leaf.nbytes)))
            self.rows = np.empty((self.capacity, *leaf.shape), leaf.dtype.newbyteorder("="))
        self.rows[0] = leaf

    def grow(self, count: int, capacity: int) -> None:
        """Makes memory for `capacity` rows and keeps the first `count`."""
        if isinstance(self.rows, np.ndarray):
            more = np.empty((capacity, *self.shape), self.rows.dtype)
            more[:count] = self.rows[:count]
            self.rows = more

    def array(self, count: int) -> Host:
        """Returns the first `count` rows as one read-only array [count, …]."""
        if isinstance(self.rows, _Texts):
            joined = np.stack(self.rows.held)
        else:
            joined = self.rows if count == len(self.rows) else self.rows[:count].copy()
        joined.flags.writeable = False
        return joined

    def check(self, leaf: Host) -> None:
        """Raises InvalidArgument for a row of another shape or dtype; a dtype's byte order does not matter."""
        if leaf.shape != self.shape:
            shapes = sorted({leaf.shape, self.shape})
            raise InvalidArgument(
                f"batch cannot stack rows of different shapes: {shapes}. Pad them to one shape first."
            )
        names = sorted({dtype_name(leaf.dtype), dtype_name(self.dtype)})
        if len(names) > 1:
            raise InvalidArgument(f"batch cannot stack rows of different dtypes: {names}. Convert them to one first.")
