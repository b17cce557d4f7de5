"""The memory that all ranks share: one anonymous file, of which each rank writes its own region and reads the others'.

A block is the data of one call. Its head has a byte for each member of the group, which a reader sets when it has read;
the owner uses the memory again when all readers have. No message is needed for that.
"""

import mmap
from collections.abc import Sequence
from typing import Final, NamedTuple, final

import torch

__all__ = ["REGION", "Arena", "size_of"]

REGION: Final = 1 << 38
"""The bytes of the file that belong to one rank.  Only what is written takes memory."""
_ALIGNED: Final = 64
_FIRST: Final = 1 << 20


class _Block(NamedTuple):
    start: int
    end: int
    readers: tuple[int, ...]


def size_of(tensor: torch.Tensor) -> int:
    """Returns the bytes of the elements of a tensor, [...]."""
    return tensor.numel() * tensor.element_size()


def _aligned(size: int) -> int:
    return -(-size // _ALIGNED) * _ALIGNED


@final
class Arena:
    """One rank's view of the file."""

    __slots__ = ("_blocks", "_file", "_rank", "_windows")

    def __init__(self, file: int, rank: int) -> None:
        self._file = file
        self._rank = rank
        self._windows: dict[int, torch.Tensor] = {}
        """For each rank the begin of its region, as bytes."""
        self._blocks: list[_Block] = []
        """The own blocks that are in use, by their place."""

    def put(self, tensors: Sequence[torch.Tensor], members: int, readers: tuple[int, ...]) -> list[int]:
        """Copies tensors, [...] each, into a block; returns where each begins, in bytes from the start of the region.

        tensors: of any dtype. members: of the group; readers: those that will read, by number.
        """
        head = _aligned(members)
        places, end = [], head
        for tensor in tensors:
            places.append(end)
            end += _aligned(size_of(tensor))
        start = self._free(end)
        window = self._window(self._rank, start + end)
        window[start : start + head] = 0
        self._blocks.append(_Block(start, start + end, readers))
        self._blocks.sort()
        for place, tensor in zip(places, tensors, strict=True):
            if tensor.numel():
                part = window[start + place : start + place + size_of(tensor)]
                part.view(tensor.dtype).view(tensor.shape).copy_(tensor.data)
        return [start, *(start + place for place in places)]

    def get(self, rank: int, place: int, count: int, dtype: torch.dtype) -> torch.Tensor:
        """Returns elements of a rank's region, [count], without a copy."""
        end = place + count * dtype.itemsize
        return self._window(rank, end)[place:end].view(dtype)

    def release(self, rank: int, start: int, member: int) -> None:
        """Marks a block as read by this member of its group."""
        self._window(rank, start + member + 1)[start + member] = 1

    def _free(self, size: int) -> int:
        """Returns where a block of this size fits."""
        own = self._windows.get(self._rank)
        if own is not None:
            self._blocks = [one for one in self._blocks if not all(own[one.start + reader] for reader in one.readers)]
        start = 0
        for block in self._blocks:
            if block.start - start >= size:
                return start
            start = _aligned(block.end)
        return start

    def _window(self, rank: int, size: int) -> torch.Tensor:
        """Returns the bytes of a rank's region, at least `size`."""
        found = self._windows.get(rank)
        if found is None or len(found) < size:
            length = max(_FIRST, 1 << (size - 1).bit_length())
            found = torch.frombuffer(mmap.mmap(self._file, length, offset=rank * REGION), dtype=torch.uint8)
            self._windows[rank] = found
        return found
