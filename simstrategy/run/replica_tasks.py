"""Runs N replica functions as tasks: one at a time, switching only at synchronization points.

It has no strategies, devices or requests: a body is a function of its index and of `suspend`, and `suspend(*call)`
returns when all tasks of the group are suspended and `match` has made the answers. Groups of tasks nest: what `match`
calls may run another group.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Final, Literal, final

from simstrategy.run.greenlets import GreenletPool
from simstrategy.run.hub import HubScheduler
from simstrategy.run.inline import run_inline, run_inline_watched
from simstrategy.run.task import Body, Choose, Failed, Match, RunTasks, RunWatched
from simstrategy.run.threads import ThreadPool
from simstrategy.run.watch import watched_runs
from simstrategy.schedules import InOrder, Schedule

__all__ = ["WAIT_LIMIT_S", "ReplicaTasks"]

WAIT_LIMIT_S: Final = 60.0


def _replica(index: int) -> str:
    return f"replica {index}"


@final
class ReplicaTasks:
    """Runs groups of tasks under one schedule.

    executor: `greenlet` where the framework keeps nothing per thread, else `thread`; a group of one runs inline.
    wait_limit_s: seconds after which a task that waits outside synchronization points is reported; None for never. See
    `watch.py`. name: of a task, for messages. processes: whether tasks of other processes wait for these.
    """

    __slots__ = ("__weakref__", "_run_one", "_run_several", "_threads", "executor")

    def __init__(
        self,
        executor: Literal["greenlet", "thread"],
        schedule: Schedule,
        *,
        wait_limit_s: float | None = WAIT_LIMIT_S,
        name: Callable[[int], str] = _replica,
        processes: bool = False,
    ) -> None:
        self.executor = executor
        # InOrder always takes the first of those that are left, so it need not be called.
        choose = None if type(schedule) is InOrder else schedule.choose
        watched = watched_runs(wait_limit_s, name)
        self._threads = ThreadPool()
        # A lone task for which no other process waits is a plain program: it is not looked at.
        self._run_one: RunTasks = partial(_run_one_watched, watched) if processes and wait_limit_s else _run_one
        self._run_several: RunTasks = (
            GreenletPool(choose, watched).run
            if executor == "greenlet"
            else partial(_run_threads, self._threads, choose, watched)
        )

    def runs_of(self, count: int) -> RunTasks:
        """Returns what runs groups of so many tasks: `run`, without the choice of how."""
        return self._run_one if count == 1 else self._run_several

    def run(self, count: int, body: Body, match: Match, failed: Failed) -> list[Any]:
        """Runs `body(index, suspend)` in `count` tasks to their ends and returns their results in order.

        Each runs in its own copy of the caller's context. The first exception ends the run and is raised unchanged:
        tasks that have not started never start, suspended ones are stopped in rank order. So is an exception of
        `match`, which no task can catch.
        """
        return self.runs_of(count)(count, body, match, failed)

    def close(self) -> None:
        """Ends the pooled threads."""
        self._threads.close()


def _run_one(_count: int, body: Body, match: Match, failed: Failed) -> list[Any]:
    return [run_inline(body, match, failed)]


def _run_one_watched(watched: RunWatched, _count: int, body: Body, match: Match, failed: Failed) -> list[Any]:
    return [run_inline_watched(watched, body, match, failed)]


def _run_threads(
    pool: ThreadPool, choose: Choose | None, watched: RunWatched, count: int, body: Body, match: Match, failed: Failed
) -> list[Any]:
    results: list[Any] = [None] * count
    threads = pool.take(count)
    try:
        jobs = [(body, iter((i,)), results, thread.suspend, thread.suspend) for i, thread in enumerate(threads)]
        watched(HubScheduler(threads, choose), threads, jobs, match, failed)
    finally:
        pool.give_back(threads)
    return results
