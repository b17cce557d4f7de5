"""Runs N replica functions as tasks: one at a time, switching only at synchronization points.

The only module that uses greenlets or threads. It has no strategies, devices or requests: a body is a function of its
index and of `suspend`, and `suspend(*call)` returns when all tasks of the group are suspended and `match` has made
the answers. Groups of tasks nest: what `match` calls may run another group.
"""

import threading
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextvars import Context, copy_context
from typing import Any, Literal, NoReturn, final

from greenlet import getcurrent, greenlet

from simstrategy.run.handoff import HandoffScheduler
from simstrategy.run.task import FINISHED, Body, Failed, Job, Match, SuspendTask, Task, TaskStopped, stop
from simstrategy.schedules import InOrder, Schedule

__all__ = ["ReplicaTasks"]


@final
class ReplicaTasks:
    """Runs groups of tasks under one schedule.

    executor: `greenlet` where the framework keeps nothing per thread, else `thread`; a group of one runs inline.
    """

    __slots__ = ("__weakref__", "_greenlets", "_threads", "executor", "schedule")

    def __init__(self, executor: Literal["greenlet", "thread"], schedule: Schedule) -> None:
        self.executor = executor
        self.schedule = schedule
        self._greenlets = _GreenletPool()
        self._threads: list[_Thread] = []
        weakref.finalize(self, _dismiss, self._threads)

    def run(self, count: int, body: Body, match: Match, failed: Failed) -> list[Any]:
        """Runs `body(index, suspend)` in `count` tasks to their ends and returns their results in order.

        Each runs in its own copy of the caller's context. The first exception ends the run and is raised unchanged:
        tasks that have not started never start, suspended ones are stopped in order.
        """
        results: list[Any] = [None] * count
        if count == 1:
            results[0] = _run_inline(body, match, failed)
        elif self.executor == "greenlet":
            tasks = self._greenlets.take(count)
            hub = getcurrent()
            back = hub.switch
            # InOrder always takes the first of those that are left, so it need not be called.
            if type(self.schedule) is InOrder:
                scheduler: HandoffScheduler[Any, Any] = HandoffScheduler(tasks, hub)
                # One job for all tasks, which take their indices as they start.
                jobs = [(body, iter(range(count)), results, scheduler.suspend, back)] * count
                scheduler.run(jobs, match, failed)
            else:

                def suspend(*call: Any) -> Any:
                    return back(call)

                each = [(body, iter((i,)), results, suspend, back) for i in range(count)]
                self._run_group(tasks, each, match, failed)
            self._greenlets.give_back(tasks)
        else:
            threads = [self._threads.pop() if self._threads else _Thread() for _ in range(count)]
            jobs = [(body, iter((i,)), results, thread.suspend, thread.suspend) for i, thread in enumerate(threads)]
            for thread in threads:
                thread.begin(copy_context())
            try:
                self._run_group(threads, jobs, match, failed)
            finally:
                self._threads.extend(thread for thread in threads if thread.is_idle())
        return results

    def close(self) -> None:
        """Ends the pooled threads."""
        _dismiss(self._threads)

    def _run_group(self, tasks: Sequence[Task], jobs: Sequence[Job], match: Match, failed: Failed) -> None:
        count = len(tasks)
        # The first answer that a task receives is its job.
        answers: Sequence[Any] = jobs
        calls: list[Any] = [None] * count
        running: Sequence[int] = range(count)
        while True:
            order: list[int] = []
            index, finished = -1, False
            try:
                for index in self._picks(running):
                    call = calls[index] = tasks[index].switch(answers[index])
                    if isinstance(call, BaseException):
                        raise call  # a greenlet that was ended from outside returns the exception instead of raising it
                    order.append(index)
                    if call is FINISHED:
                        finished = True
                if finished:
                    # The others may continue if `match` answers them: the workers of a simulated cluster do.
                    running = [one for one in running if calls[one] is not FINISHED]
                    if not running:
                        return
            except BaseException as error:
                # Where the schedule raised, the last task has arrived already.
                if index >= 0 and index not in order:
                    calls[index] = FINISHED
                    failed(index, error, calls, order)
                stop(tasks, calls)
                raise
            try:
                answers = match(calls, order)
            except BaseException:
                stop(tasks, calls)
                raise

    def _picks(self, running: Sequence[int]) -> Iterable[int]:
        """Returns each task once, in the order that the schedule chooses step by step."""
        return running if type(self.schedule) is InOrder else self._choices(list(running))

    def _choices(self, left: list[int]) -> Iterator[int]:
        while len(left) > 1:
            yield left.pop(self.schedule.choose("task", len(left)))
        yield left[0]


def _run_inline(body: Body, match: Match, failed: Failed) -> Any:
    raised: list[BaseException] = []
    outside = copy_context()

    def suspend(*call: Any) -> Any:
        try:
            # Outside the task's own context: `match` of several tasks does not run in theirs either.
            return outside.run(match, [call], [0])[0]
        except BaseException as error:
            raised.append(error)
            raise

    try:
        return copy_context().run(body, 0, suspend)
    except BaseException as error:
        if not any(error is one for one in raised):  # else `match` raised it, and not the body
            failed(0, error, [None], [])
        raise


@final
class _GreenletPool:
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


@final
class _Throw:
    """An answer that is raised where the task is suspended."""

    __slots__ = ("error",)

    def __init__(self, error: BaseException) -> None:
        self.error = error


@final
class _Thread:
    """One pooled thread; two semaphores let it run only between `switch` and its next `suspend`."""

    def __init__(self) -> None:
        self._go = threading.Semaphore(0)
        self._back = threading.Semaphore(0)
        self._context: Context | None = None
        self._answer: Any = None
        self._outcome: tuple[Any, BaseException | None] = (FINISHED, None)
        """The latest call, and what the task raised instead."""
        self._dismissed = False
        # A daemon: a suspended thread must never keep a failing interpreter alive.
        self._thread = threading.Thread(target=self._loop, name="simstrategy task", daemon=True)
        self._thread.start()

    def begin(self, context: Context) -> None:
        """Sets the context of the next job."""
        self._context = context

    def is_idle(self) -> bool:
        """Returns whether the thread waits for a new job: also if its last one never started."""
        return self._outcome[0] is FINISHED and not self._dismissed

    def switch(self, answer: Any, /) -> Any:
        self._answer = answer
        self._go.release()
        try:
            self._back.acquire()
        except BaseException:
            # Interrupted while the task runs: it is stopped at its next suspension, and never used again.
            self._dismissed = True
            self._answer = _Throw(TaskStopped())
            self._go.release()
            raise
        call, error = self._outcome
        if error is not None:
            self._outcome = (FINISHED, None)
            raise error
        return call

    def throw(self, error: BaseException, /) -> Any:
        return self.switch(_Throw(error))

    def dismiss(self) -> None:
        """Ends the thread, which waits for a job."""
        self._dismissed = True
        self._go.release()
        if self._thread is not threading.current_thread():
            self._thread.join()

    def suspend(self, *call: Any) -> Any:
        self._outcome = (call, None)
        self._back.release()
        self._go.acquire()
        if isinstance(self._answer, _Throw):
            raise self._answer.error
        return self._answer

    def _loop(self) -> None:
        while not self._dismissed:
            self._go.acquire()
            if self._dismissed or self._context is None:
                return
            body, indices, results, suspend, _ = self._answer
            index = next(indices)
            error: BaseException | None = None
            try:
                results[index] = self._context.run(body, index, suspend)
            except BaseException as raised:  # noqa: BLE001 - carried to the thread that called run, and raised there
                error = raised
            # Nothing of the run is kept: it refers to the strategy, whose end ends this thread.
            self._outcome, self._answer, self._context = (FINISHED, error), None, None
            del body, indices, results, suspend, error
            self._back.release()


def _dismiss(idle: list[_Thread]) -> None:
    while idle:
        idle.pop().dismiss()
