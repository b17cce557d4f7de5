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
    they are in blocks.

    >>> left = Remaining(["a", "b", "c"])
    >>> left.pop(1), left.pop(1), len(left)
    ('b', 'c', 1)
    """

    __slots__ = ("_blocks", "_count")

    def __init__(self, items: Iterable[T] = ()) -> None:
        whole = list(items)
        self._blocks = [whole[first : first + _BLOCK] for first in range(0, len(whole), _BLOCK)] or [[]]
        self._count = len(whole)

    def __len__(self) -> int:
        return self._count

    def append(self, item: T) -> None:
        """Adds an item behind all others."""
        last = self._blocks[-1]
        if len(last) < _BLOCK:
            last.append(item)
        else:
            self._blocks.append([item])
        self._count += 1

    def pop(self, place: int) -> T:
        """Takes out the item at a place, from 0 to len - 1."""
        blocks, number = self._blocks, 0
        size = len(blocks[0])
        while place >= size:
            place -= size
            number += 1
            size = len(blocks[number])
        item = blocks[number].pop(place)
        self._count -= 1
        if number + 1 < len(blocks) and size + len(blocks[number + 1]) <= _BLOCK:
            blocks[number] += blocks.pop(number + 1)
        return item
