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
        count = 1
        for row in islice(rows, size - 1):
            found, other = tree.flatten(row)
            if other != structure:
                raise InvalidArgument(
                    f"batch cannot stack elements of different structure: {tree.describe(structure, [])} and "
                    f"{tree.describe(other, [])}. All elements need the same containers and keys."
                )
            for column, leaf in zip(columns, found, strict=True):
                column.add(leaf)
            count += 1
        if count == size or not drop_remainder:
            yield tree.refill(first, structure, [column.array() for column in columns])


@final
class _Column:
    """The rows of one array of the elements."""

    __slots__ = ("_count", "_dtype", "_rows", "_shape", "_size", "_texts")

    def __init__(self, leaf: Host, size: int) -> None:
        self._shape, self._dtype, self._size = leaf.shape, leaf.dtype, size
        # NumPy's texts have a length, which the longest of all decides. The pipeline has copied them already.
        self._texts: list[Host] | None = [leaf] if leaf.dtype.kind in TEXTS else None
        if self._texts is None:
            at_first = max(1, _FIRST_BYTES_MAX // max(1, leaf.nbytes))
            self._rows = np.empty((min(size, at_first), *leaf.shape), leaf.dtype.newbyteorder("="))
            self._rows[0] = leaf
            self._count = 1

    def add(self, leaf: Host) -> None:
        """Copies a row."""
        if leaf.shape != self._shape or leaf.dtype is not self._dtype:
            self._check(leaf)
        if self._texts is not None:
            self._texts.append(leaf)
            return
        if self._count == len(self._rows):
            more = np.empty((min(self._size, 2 * self._count), *self._shape), self._rows.dtype)
            more[: self._count] = self._rows
            self._rows = more
        self._rows[self._count] = leaf
        self._count += 1

    def array(self) -> Host:
        """Returns the rows as one read-only array [rows, …]."""
        if self._texts is not None:
            rows = np.stack(self._texts)
        else:
            rows = self._rows if self._count == len(self._rows) else self._rows[: self._count].copy()
        rows.flags.writeable = False
        return rows

    def _check(self, leaf: Host) -> None:
        if leaf.shape != self._shape:
            shapes = sorted({leaf.shape, self._shape})
            raise InvalidArgument(
                f"batch cannot stack rows of different shapes: {shapes}. Pad them to one shape first."
            )
        names = sorted({dtype_name(leaf.dtype), dtype_name(self._dtype)})
        if len(names) > 1:
            raise InvalidArgument(f"batch cannot stack rows of different dtypes: {names}. Convert them to one first.")
