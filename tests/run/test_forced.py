"""Exceptions that are raised in other threads."""

import sys
import threading

from simstrategy.run.forced import raise_in_thread
from simstrategy.run.task import TaskStopped

TRIES = 20
LIMIT_S = 20.0


def traced(frame, event, argument):
    """A trace function that looks at every step, as coverage tools and debuggers do."""
    frame.f_trace_opcodes = True
    return traced


def test_a_thread_that_waits_is_ended_under_a_trace_function():
    ended = []

    def wait(lock, is_there):
        try:
            is_there.set()
            lock.acquire()
        except TaskStopped:
            ended.append(True)

    def end_all():
        for _ in range(TRIES):
            lock, is_there = threading.Lock(), threading.Event()
            lock.acquire()
            waits = threading.Thread(target=wait, args=(lock, is_there), daemon=True)
            waits.start()
            is_there.wait()
            sys.settrace(traced)
            raise_in_thread(waits.ident)
            sys.settrace(None)
            lock.release()
            waits.join(LIMIT_S)

    ends = threading.Thread(target=end_all, daemon=True)
    ends.start()
    ends.join(LIMIT_S)
    assert not ends.is_alive(), "the thread that raises the exception does not go on"
    assert ended == [True] * TRIES
