"""Things in order, any of which can be taken out.  Which one is taken is chosen elsewhere."""

from collections.abc import Iterable
from typing import Final, Generic, TypeVar, final

__all__ = ["Remaining", "taken_from"]

T = TypeVar("T")

_BLOCK: Final = 4096


def taken_from(items: Iterable[T], most: int) -> "list[T] | Remaining[T]":
    """Returns a list of items of which there are never more than `most`, or a `Remaining` where that is quicker."""
    return list(items) if most <= _BLOCK else Remaining(items)


@final
class Remaining(Generic[T]):
    """A list from which an item is taken in nearly the same time, however long it is.

    A list moves all items behind the one that it gives up, which is most of the time of a shuffle of 100,000. Here
    they are in blocks, at the leaves of a binary tree: a place is found in as many steps as the tree has levels.

    >>> left = Remaining(["a", "b", "c"])
    >>> left.pop(1), left.pop(1), len(left)
    ('b', 'c', 1)
    """

    __slots__ = ("_blocks", "_count", "_leaves", "_lower")

    def __init__(self, items: Iterable[T] = ()) -> None:
        self._arrange(list(items))

    def __len__(self) -> int:
        return self._count

    def append(self, item: T) -> None:
        """Adds an item behind all others."""
        if len(self._blocks[-1]) >= _BLOCK:
            if len(self._blocks) == self._leaves:
                self._arrange([one for block in self._blocks for one in block])
            self._blocks.append([])
        self._blocks[-1].append(item)
        self._count += 1
        lower, node = self._lower, self._leaves + len(self._blocks) - 1
        while node > 1:
            lower[node >> 1] += not node & 1
            node >>= 1

    def pop(self, place: int) -> T:
        """Takes out the item at a place, from 0 to len - 1."""
        lower, leaves, node = self._lower, self._leaves, 1
        while node < leaves:
            count = lower[node]
            if place < count:
                lower[node] = count - 1
                node += node
            else:
                place -= count
                node += node + 1
        self._count -= 1
        return self._blocks[node - leaves].pop(place)

    def _arrange(self, whole: list[T]) -> None:
        """Puts the items into blocks, of which there can be as many more: they are arranged once in so many items."""
        self._count = len(whole)
        self._blocks = [whole[first : first + _BLOCK] for first in range(0, len(whole), _BLOCK)] or [[]]
        self._leaves = leaves = 2 << (len(self._blocks) - 1).bit_length()
        # The nodes 2 n and 2 n + 1 are below the node n; the last half are the blocks. Kept is how many are below 2 n.
        counts = [0] * leaves + [*map(len, self._blocks)] + [0] * (leaves - len(self._blocks))
        for node in range(leaves - 1, 0, -1):
            counts[node] = counts[2 * node] + counts[2 * node + 1]
        self._lower = [0, *counts[2::2]]
