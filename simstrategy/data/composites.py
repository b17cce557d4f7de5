"""Protocols of a framework's ragged and sparse batches, so that their rows can be split like those of an array.

The core implements none: a framework's `Source` yields such batches, and its replicas receive them.
"""

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

__all__ = ["CompositeBatch", "CompositeSpec"]


@runtime_checkable
class CompositeBatch(Protocol):
    """A batch of rows that is not an array, such as a ragged or a sparse tensor; one leaf of an element."""

    @property
    def shape(self) -> tuple[int | None, ...]:
        """The sizes [rows, …]; None stands for a size that differs from row to row."""
        ...

    @property
    def ndim(self) -> int: ...

    @property
    def dtype(self) -> Any: ...

    def __len__(self) -> int: ...

    def __getitem__(self, rows: slice, /) -> "CompositeBatch":
        """Returns the rows of a slice."""
        ...

    def joined(self, parts: Sequence[Any]) -> "CompositeBatch":
        """Concatenates the rows of several batches; parts: all of them, this one first."""
        ...

    def placed(self, placement: str) -> Any:
        """Returns the framework's value, copied to the device of this name."""
        ...


class CompositeSpec(Protocol):
    """Describes how such a leaf differs from an array; hashable, and compared by value."""

    def empty(self, shape: tuple[int | None, ...], dtype: str) -> CompositeBatch:
        """Returns a batch of this shape and dtype with no rows; sizes that are None become 0."""
        ...
