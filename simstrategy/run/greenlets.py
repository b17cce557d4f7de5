"""Greenlets that carry tasks, kept from run to run."""

import sys
import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import Any, NoReturn, final

import greenlet as greenlets
from greenlet import getcurrent, greenlet

from simstrategy.run.forced import raise_until
from simstrategy.run.own_thread import foreign_thread
from simstrategy.run.task import FINISHED, ForcedStop, Job, SuspendTask

__all__ = ["GreenletPool", "suspend_to"]


@final
class GreenletPool:
    """Idle greenlets, kept for each thread apart, since a greenlet cannot leave the thread it began in.

    Kept from run to run: a new one costs more than all that a task does in a step, and fewer objects in 10,000 tasks
    mean less work for the garbage collector.
    """

    __slots__ = ("_local",)

    def __init__(self) -> None:
        self._local = threading.local()

    def take(self, count: int) -> list[greenlet]:
        """Returns greenlets whose parent is the caller's greenlet, each with a copy of its context."""
        idle: list[greenlet] = self._local.__dict__.setdefault("idle", [])
        first = max(len(idle) - count, 0)
        tasks = idle[first:]
        del idle[first:]
        tasks.extend([_started() for _ in range(count - len(tasks))])
        hub = getcurrent()
        for task in tasks:
            if task.parent is not hub:
                task.parent = hub
            task.gr_context = copy_context()
        return tasks

    def give_back(self, tasks: list[greenlet]) -> None:
        """Keeps greenlets whose jobs have ended without an exception."""
        for task in tasks:
            task.gr_context = None
        self._local.idle.extend(tasks)


def suspend_to(back: Callable[[Any], Any]) -> SuspendTask:
    """Returns a function that suspends a greenlet by a switch to its hub.  back: the switch."""

    def suspend(*call: Any) -> Any:
        try:
            return back(call)
        except ForcedStop:
            raise_until(sys._getframe(1))
            raise
        except greenlets.error:
            raise foreign_thread() from None

    return suspend


def _started() -> greenlet:
    """Makes a greenlet that waits for its first job: arguments of its first switch would be kept all its life."""
    task = greenlet(_work)
    task.switch(getcurrent().switch)
    return task


def _work(suspend: SuspendTask) -> NoReturn:
    """The life of a pooled greenlet: one job after the other, until one raises."""
    job: Job = suspend(FINISHED)
    while True:
        body, indices, results, suspend, back = job
        index = next(indices)
        results[index] = body(index, suspend)
        # Not by `suspend`, which may switch to another task; and no reference to the job is kept while waiting.
        del job, body, indices, results, suspend
        job = back(FINISHED)
