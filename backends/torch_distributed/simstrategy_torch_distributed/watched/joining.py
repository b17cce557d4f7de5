"""Counts the calls of all ranks that a rank makes, and those that it makes after it has joined.

`torch.distributed.algorithms.join.Join` lets a rank without rows make the calls of the others, without their steps.
"""

from types import FrameType
from typing import Final, final

from torch.distributed.algorithms.join import Join

__all__ = ["Joining"]

_CODE: Final = Join.__exit__.__code__


@final
class Joining:
    """The calls of one rank."""

    def __init__(self) -> None:
        self._calls = 0
        self._joined = 0

    def called(self, frame: FrameType | None) -> None:
        """Counts a call that all ranks make.  frame: that made it."""
        self._calls += 1
        while frame is not None and frame.f_code is not _CODE:
            frame = frame.f_back
        self._joined += frame is not None

    @property
    def counts(self) -> list[int]:
        """How many calls there were, and how many of them where `Join` ends."""
        return [self._calls, self._joined]
