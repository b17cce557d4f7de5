"""What a framework's ragged or sparse batch has to show, so that its rows can be dealt like an array's.

The core has no such values of its own: they come out of a framework's `Source`, and go into its replicas.
"""

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

__all__ = ["CompositeBatch", "CompositeSpec"]


@runtime_checkable
class CompositeBatch(Protocol):
    """A batch that is no array; one leaf of an element."""

    @property
    def shape(self) -> tuple[int | None, ...]:
        """The sizes, None for those that differ from row to row; the first is the number of rows."""
        ...

    @property
    def ndim(self) -> int: ...

    @property
    def dtype(self) -> Any: ...

    def __len__(self) -> int: ...

    def __getitem__(self, rows: slice, /) -> "CompositeBatch":
        """Returns some of the rows."""
        ...

    def joined(self, parts: Sequence[Any]) -> "CompositeBatch":
        """Returns the rows of several such batches, this one the first of them, end to end."""
        ...

    def placed(self, placement: str) -> Any:
        """Returns the framework's own value, on a device of the backend."""
        ...


class CompositeSpec(Protocol):
    """What tells such a leaf's form from an array's; hashable, and compared by value."""

    def empty(self, shape: tuple[int | None, ...], dtype: str) -> CompositeBatch:
        """Returns a batch without rows."""
        ...
