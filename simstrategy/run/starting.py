"""Starts threads in one step.

`Thread.start` waits for the new thread by an Event. An interrupt in there can leave the Event's lock held, and the new
thread waits for it for ever. Python raises interrupts in the main thread alone, so another one calls `start`.
"""

import _thread
import threading
from typing import Final, final

from simstrategy.run.frames import frames_of_threads

__all__ = ["start_whole", "until_started"]


@final
class _Start:
    """One start.  done: released where `start` has returned; error: what it raised."""

    __slots__ = ("done", "error")

    def __init__(self) -> None:
        self.done = threading.Lock()
        self.done.acquire()
        self.error: RuntimeError | None = None

    def __call__(self, thread: threading.Thread) -> None:
        try:
            thread.start()
        except RuntimeError as error:
            self.error = error
        finally:
            self.done.release()


def start_whole(thread: threading.Thread) -> None:
    """Starts a thread, and waits until it runs: an interrupt ends the wait alone.

    Raises RuntimeError where the system has no further thread.
    """
    start = _Start()
    _thread.start_new_thread(start, (thread,))
    start.done.acquire()
    if start.error is not None:
        raise start.error


_STARTS: Final = (threading.Thread.start.__code__, start_whole.__code__)
"""What waits until a new thread runs, and how many frames it calls meanwhile."""
_START_DEPTH: Final = 4
_START_TRIES: Final = 500
_START_PAUSE_S: Final = 1e-3


def until_started(ident: int) -> None:
    """Waits while a thread starts another one.

    In CPython 3.11 both have the same number until the new one runs: an exception for the one would reach the other.
    """
    pause = threading.Lock()
    pause.acquire()
    for _ in range(_START_TRIES):
        frame, depth = frames_of_threads().get(ident), 0
        while frame is not None and depth < _START_DEPTH and frame.f_code not in _STARTS:
            frame, depth = frame.f_back, depth + 1
        if frame is None or depth == _START_DEPTH:
            return
        pause.acquire(timeout=_START_PAUSE_S)
