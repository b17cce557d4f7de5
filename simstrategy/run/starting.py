"""Starts threads in one step.

`Thread.start` waits for the new thread by an Event. An interrupt in there can leave the Event's lock held, and the new
thread waits for it for ever. Python raises interrupts in the main thread alone, so another one calls `start`.
"""

import _thread
import threading
from typing import final

__all__ = ["start_whole"]


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
