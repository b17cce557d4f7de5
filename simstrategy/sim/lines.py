"""The line of a frame, looked up once where calls follow each other from one line.  No frameworks and no strategies."""

from collections.abc import Callable
from types import CodeType, FrameType

__all__ = ["last_line"]

Line = tuple[str, int]
"""A file and a line in it."""


def last_line() -> Callable[[FrameType], Line]:
    """Returns a function from a frame to its file and line, which keeps the last answer.

    All replicas mostly call from one line, and to find a line takes the longer the further down it stands: its number
    is counted from the first line of the function. See docs/caches.md.

    >>> import sys
    >>> last_line()(sys._getframe(0))[1]
    1
    """
    last: tuple[CodeType | None, int, Line] = (None, 0, ("", 0))

    def source(frame: FrameType) -> Line:
        nonlocal last
        code, step, line = last
        if frame.f_code is code and frame.f_lasti == step:
            return line
        line = (frame.f_code.co_filename, frame.f_lineno)
        last = (frame.f_code, frame.f_lasti, line)  # one object: another thread sees the old one or this one
        return line

    return source
