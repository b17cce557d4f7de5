"""Tasks that switch back to their hub, which then chooses the next one: for any schedule and executor."""

from collections.abc import Iterator, Sequence
from typing import Any, final

from simstrategy.errors import ContextError, ReplicasBlocked
from simstrategy.run.own_thread import in_loops, loop_error, require_no_loop, running_loop
from simstrategy.run.stopping import stop
from simstrategy.run.task import FINISHED, Choose, Failed, Job, Match, Task
from simstrategy.schedules.remaining import Remaining, taken_from

__all__ = ["HubScheduler"]


@final
class HubScheduler:
    """One run of a group of tasks.  choose: of n tasks the one that runs next; None for their order."""

    __slots__ = ("_choose", "_index", "_switches", "_tasks")

    def __init__(self, tasks: Sequence[Task], choose: Choose | None) -> None:
        self._tasks = tasks
        self._choose = choose
        self._switches = 0
        self._index: int | None = None

    def place(self) -> tuple[object, int | None]:
        """Returns what changes whenever a task switches, and the task that runs now, None between rounds."""
        return self._switches, self._index

    def run(self, jobs: Sequence[Job], match: Match, failed: Failed) -> None:
        """Runs all tasks to their ends; see `ReplicaTasks.run`."""
        tasks = self._tasks
        # The first answer that a task receives is its job.
        answers: Sequence[Any] = jobs
        calls: list[Any] = [None] * len(tasks)
        running: Sequence[int] = range(len(tasks))
        order: list[int] = []
        index = -1
        loop = running_loop()
        try:
            while True:
                order, index, finished = [], -1, False
                for index in self._picks(running):
                    self._index = index
                    self._switches += 1
                    call = calls[index] = tasks[index].switch(answers[index])
                    if isinstance(call, BaseException):
                        raise call  # a greenlet that was ended from outside returns the exception instead of raising it
                    order.append(index)
                    if call is FINISHED:
                        finished = True
                call = None
                self._index = None
                if in_loops(loop):
                    require_no_loop(tasks, loop)
                if finished:
                    # The others may continue if `match` answers them: the workers of a simulated cluster do.
                    running = [one for one in running if calls[one] is not FINISHED]
                    if not running:
                        return
                # Each in a list of its own, out of which its task takes it: the switch would keep it for a round.
                answers = [[one] for one in match(calls, order)]
                # Nor is anything kept of what was given to the calls.
                calls = [one if one is FINISHED else None for one in calls]
        except BaseException as error:
            clash = loop_error(tasks, loop)
            self._fail(error, index, calls, order, failed)
            if clash is not None and not isinstance(error, ContextError):
                raise clash from error
            raise

    def _fail(self, error: BaseException, index: int, calls: list[Any], order: list[int], failed: Failed) -> None:
        tasks = list(self._tasks)
        # Where the schedule raised, the last task has arrived already.
        if index >= 0 and index not in order:
            calls[index] = FINISHED
            failed(index, error, calls, order)
            # What runs ends first; but what waits for another task ends when that one has released it.
            culprit = tasks.pop(index)
            tasks.insert(len(tasks) if isinstance(error, ReplicasBlocked) else 0, culprit)
        stop(tasks)

    def _picks(self, running: Sequence[int]) -> Sequence[int] | Iterator[int]:
        """Returns each task once, in the order that the schedule chooses step by step."""
        return running if self._choose is None else _choices(taken_from(running, len(running)), self._choose)


def _choices(left: list[int] | Remaining[int], choose: Choose) -> Iterator[int]:
    while len(left) > 1:
        yield left.pop(choose("task", len(left)))
    yield left.pop(0)
