"""Runs N replica functions as tasks: one at a time, switching only at synchronization points.

It has no strategies, devices or requests: a body is a function of its index and of `suspend`, and `suspend(*call)`
returns when all tasks of the group are suspended and `match` has made the answers. Groups of tasks nest: what `match`
calls may run another group.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, Literal, final

from greenlet import getcurrent

from simstrategy.run.greenlets import GreenletPool, suspend_to
from simstrategy.run.handoff import HandoffScheduler
from simstrategy.run.hub import HubScheduler
from simstrategy.run.inline import run_inline
from simstrategy.run.task import Body, Failed, Job, Match, Scheduler, Task
from simstrategy.run.threads import ThreadPool
from simstrategy.run.watch import Watched, watch
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
    `watch.py`. name: of a task, for messages.
    """

    __slots__ = ("__weakref__", "_choose", "_greenlets", "_name", "_threads", "_wait_limit_s", "_watch", "executor")

    def __init__(
        self,
        executor: Literal["greenlet", "thread"],
        schedule: Schedule,
        *,
        wait_limit_s: float | None = WAIT_LIMIT_S,
        name: Callable[[int], str] = _replica,
    ) -> None:
        self.executor = executor
        # InOrder always takes the first of those that are left, so it need not be called.
        self._choose = None if type(schedule) is InOrder else schedule.choose
        self._greenlets = GreenletPool()
        self._threads = ThreadPool()
        self._wait_limit_s = wait_limit_s
        self._name = name
        self._watch = watch()

    def run(self, count: int, body: Body, match: Match, failed: Failed) -> list[Any]:
        """Runs `body(index, suspend)` in `count` tasks to their ends and returns their results in order.

        Each runs in its own copy of the caller's context. The first exception ends the run and is raised unchanged:
        tasks that have not started never start, suspended ones are stopped in rank order. So is an exception of
        `match`, which no task can catch.
        """
        results: list[Any] = [None] * count
        if count == 1:
            results[0] = run_inline(body, match, failed)
        elif self.executor == "greenlet":
            self._run_greenlets(results, body, match, failed)
        else:
            self._run_threads(results, body, match, failed)
        return results

    def close(self) -> None:
        """Ends the pooled threads."""
        self._threads.close()

    def _run_greenlets(self, results: list[Any], body: Body, match: Match, failed: Failed) -> None:
        count = len(results)
        tasks = self._greenlets.take(count)
        hub = getcurrent()
        back = hub.switch
        if self._choose is None:
            handoff: HandoffScheduler[Any, Any] = HandoffScheduler(tasks, hub)
            # One job for all tasks, which take their indices as they start.
            jobs = [(body, iter(range(count)), results, handoff.suspend, back)] * count
            self._run_watched(handoff, tasks, jobs, match, failed)
        else:
            suspend = suspend_to(back)
            jobs = [(body, iter((i,)), results, suspend, back) for i in range(count)]
            self._run_watched(HubScheduler(tasks, self._choose), tasks, jobs, match, failed)
        self._greenlets.give_back(tasks)

    def _run_threads(self, results: list[Any], body: Body, match: Match, failed: Failed) -> None:
        threads = self._threads.take(len(results))
        try:
            jobs = [(body, iter((i,)), results, thread.suspend, thread.suspend) for i, thread in enumerate(threads)]
            self._run_watched(HubScheduler(threads, self._choose), threads, jobs, match, failed)
        finally:
            self._threads.give_back(threads)

    def _run_watched(
        self, scheduler: Scheduler, tasks: Sequence[Task], jobs: Sequence[Job], match: Match, failed: Failed
    ) -> None:
        if self._wait_limit_s is None:
            scheduler.run(jobs, match, failed)
            return
        watched = Watched(scheduler.place, tasks, self._wait_limit_s, self._name)
        try:
            try:
                self._watch.add(watched)
                scheduler.run(jobs, match, failed)
            finally:
                self._watch.remove(watched, None)
                watched.close()
        except BaseException as error:
            # Also where the interrupt comes while `close` waits for the watch: none comes after that.
            if watched.error is not None:
                raise watched.error from (None if isinstance(error, KeyboardInterrupt) else error)
            raise
        if watched.error is not None:  # the program has caught the interrupt that ended its wait
            raise watched.error
