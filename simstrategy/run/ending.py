"""Ends the wait of another thread: what it has called raises, in the main thread by SIGINT, else when it is woken."""

import signal
import threading
from collections.abc import Mapping
from types import FrameType

from simstrategy.run.forced import raise_in_thread
from simstrategy.run.waiting import awaited_by, waker_of

__all__ = ["end_lost_wait", "end_wait", "interrupt_main", "is_interruptible"]


def is_interruptible(ident: int) -> bool:
    """Returns whether Ctrl-C interrupts this thread: it is the main one, and has Python's own handler."""
    main = threading.main_thread().ident
    return ident == main and signal.getsignal(signal.SIGINT) is signal.default_int_handler


def interrupt_main(ident: int) -> None:
    """Raises KeyboardInterrupt in the main thread, whatever it waits for: see `is_interruptible`."""
    signal.pthread_kill(ident, signal.SIGINT)


def end_wait(ident: int, frame: FrameType) -> bool:
    """Raises TaskStopped in a thread that waits for a condition or an item; returns False, and does nothing, elsewhere.

    frame: its newest one.
    """
    waker = waker_of(frame)
    if waker is None:
        return False
    raise_in_thread(ident)
    waker()
    return True


def end_lost_wait(ident: int, frames: Mapping[int, FrameType]) -> bool:
    """Raises TaskStopped in a thread that cannot go on; returns False, and does nothing, where that is impossible.

    frames: the newest one of each thread. A thread that joins another one goes on when that one has ended: it is ended
    too. A lock is released, although another one holds it: that one cannot go on either.
    """
    ended = [ident]
    while True:
        frame = frames.get(ended[-1])
        if frame is None:
            return False
        awaited = awaited_by(frame)
        if awaited is None or not isinstance(awaited.thing, threading.Thread):
            break
        joined = awaited.thing.ident
        if joined is None or joined in ended:
            return False
        ended.append(joined)
    waker = waker_of(frame, locks=True)
    if waker is None:
        return False
    for one in ended:
        raise_in_thread(one)
    waker()
    return True
