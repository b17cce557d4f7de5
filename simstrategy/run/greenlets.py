"""Greenlets that carry tasks, kept from run to run, and the runs of groups of tasks in them."""

import sys
import threading
import weakref
from collections.abc import Callable
from contextvars import copy_context
from typing import Any, Final, NoReturn, final

import greenlet as greenlets
from greenlet import getcurrent, greenlet

from simstrategy.run.collector import MANY, collector
from simstrategy.run.forced import raise_until
from simstrategy.run.handoff import HandoffScheduler
from simstrategy.run.hub import HubScheduler
from simstrategy.run.own_thread import foreign_thread
from simstrategy.run.task import FINISHED, Body, Choose, Failed, ForcedStop, Job, Match, RunWatched, SuspendTask

__all__ = ["GreenletPool"]

_LEFT: Final = threading.local()
"""For each thread the lists of idle greenlets whose pools are gone."""


@final
class GreenletPool:
    """Idle greenlets, kept for each thread apart, since a greenlet cannot leave the thread it began in.

    choose: of n tasks the one that runs next; None for their order. watched: runs a scheduler's tasks.

    Kept from run to run: a new one costs more than all that a task does in a step, and fewer objects in 10,000 tasks
    mean less work for the garbage collector.

    Those of a pool that is gone are ended where the next ones are taken, each by `throw`: one whose last reference is
    dropped in another thread is ended in the middle of a later switch, which then returns to the wrong place. A thread
    that reads the frames of this one has such references for a while.
    """

    __slots__ = ("__weakref__", "_choose", "_local", "_watched")

    def __init__(self, choose: Choose | None, watched: RunWatched) -> None:
        self._local = threading.local()
        self._choose = choose
        self._watched = watched

    def run(self, count: int, body: Body, match: Match, failed: Failed) -> list[Any]:
        """Runs `body(index, suspend)` in so many tasks to their ends; see `ReplicaTasks.run`."""
        if count < MANY:
            return self._run(count, body, match, failed)
        with collector().patient(count):
            return self._run(count, body, match, failed)

    def _run(self, count: int, body: Body, match: Match, failed: Failed) -> list[Any]:
        hub, results = getcurrent(), [None] * count
        tasks = self._take(count, hub)
        if self._choose is None:
            handoff: HandoffScheduler[Any, Any] = HandoffScheduler(tasks, hub)
            # One job for all tasks, which take their indices as they start.
            jobs: list[Job] = [(body, iter(range(count)), results, handoff.suspend, hub.switch)] * count
            self._watched(handoff, tasks, jobs, match, failed)
        else:
            suspend = _suspend_to(hub.switch)
            jobs = [(body, iter((i,)), results, suspend, hub.switch) for i in range(count)]
            self._watched(HubScheduler(tasks, self._choose), tasks, jobs, match, failed)
        # Their jobs have ended without an exception.
        for task in tasks:
            task.gr_context = None
        self._local.idle.extend(tasks)
        return results

    def _take(self, count: int, hub: greenlet) -> list[greenlet]:
        """Returns greenlets whose parent is the hub, each with a copy of its context."""
        if _LEFT.__dict__.get("lists"):
            _end_left(_LEFT.lists)
        idle: list[greenlet] = self._local.__dict__.get("idle") or self._idle()
        first = max(len(idle) - count, 0)
        tasks = idle[first:]
        del idle[first:]
        tasks.extend([_started() for _ in range(count - len(tasks))])
        for task in tasks:
            if task.parent is not hub:
                task.parent = hub
            task.gr_context = copy_context()
        return tasks

    def _idle(self) -> list[greenlet]:
        """Returns the list of this thread's idle greenlets."""
        if "idle" not in self._local.__dict__:
            idle: list[greenlet] = []
            left: list[list[greenlet]] = _LEFT.__dict__.setdefault("lists", [])
            weakref.finalize(self, left.append, idle).atexit = False
            self._local.idle = idle
        return self._local.idle  # type: ignore[no-any-return]  # as it was set


def _end_left(lists: list[list[greenlet]]) -> None:
    """Ends idle greenlets, and so before their last reference is dropped."""
    while lists:
        left = lists[-1]
        while left:
            task = left[-1]
            task.parent = getcurrent()
            task.throw()
            left.pop()
        lists.pop()


def _suspend_to(back: Callable[[Any], Any]) -> SuspendTask:
    """Returns a function that suspends a greenlet by a switch to its hub.  back: the switch."""

    def suspend(*call: Any) -> Any:
        try:
            return back(call).pop()
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
