"""Tasks that switch directly to the next one: a round of N tasks takes N + 1 switches instead of 2 N.

For executors whose suspended task can be resumed by any other, and for rounds whose order is fixed in advance. The
result is that of `HubScheduler`, which switches back to its hub after every task.
"""

import sys
from collections.abc import Iterator, Sequence
from threading import get_ident
from typing import Any, Final, Generic, TypeVar, final

from simstrategy.errors import ContextError
from simstrategy.run.forced import raise_until
from simstrategy.run.own_thread import EVENTS, foreign_thread, loop_error, require_no_loop, running_loop
from simstrategy.run.stopping import stop
from simstrategy.run.task import FINISHED, Failed, ForcedStop, Job, Match, Task

__all__ = ["HandoffScheduler"]

_NOT_SUSPENDED: Final = (
    "The greenlet of a replica was ended, or switched away from, by other code than this library's. Use no greenlets "
    "in a replica function that switch to its parent, or executor='thread'."
)

F = TypeVar("F")
"""A field of a call."""
A = TypeVar("A")
"""An answer."""


@final
class _Round:
    """One round, as tasks and hub share it.  Nothing here refers to the scheduler, which a kept context may outlive."""

    __slots__ = ("answers", "arrived", "following", "job", "left")

    def __init__(self) -> None:
        self.arrived: list[Any] = []
        """The calls of this round so far."""
        self.following: Sequence[Task] = ()
        """For each place in the round: the task that runs after it."""
        self.left: Iterator[Task] = iter(())
        """The same of the places that have not come."""
        self.answers: dict[int, Any] = {}
        """What the task at each place receives.  Not by its switch: who makes that would keep it for a round."""
        self.job: Job | None = None
        """What a task receives by its first switch."""

    def withdraw(self, call: tuple[Any, ...], error: BaseException) -> None:
        """Undoes what a task did that could not switch, because it was interrupted."""
        if isinstance(error, ForcedStop):
            raise_until(sys._getframe(2))
        elif self.following and self.arrived and self.arrived[-1] is call:
            self.arrived.pop()
            self.left = iter(self.following[len(self.arrived) :])


@final
class HandoffScheduler(Generic[F, A]):
    """One run of a group of tasks, always in the order of their indices.

    hub: runs the group; control returns there when a task ends or raises.
    """

    __slots__ = ("_following", "_round", "_rounds", "_running", "_tasks", "suspend")

    def __init__(self, tasks: Sequence[Task], hub: Task) -> None:
        self._tasks = tasks
        self._rounds = 0
        self._running: Sequence[int] = range(len(tasks))
        self._round = shared = _Round()
        self._following: list[Task] = [*tasks[1:], hub]
        """For each place in a round: the task that runs after it."""
        arrived, ident = shared.arrived, get_ident()
        arrive = arrived.append

        # One function for all tasks, and one iterator: an object for each of 10,000 tasks costs the garbage
        # collector more than the tasks themselves.
        def suspend(*call: F) -> A:
            if get_ident() != ident:  # before the call arrives: the task itself may run meanwhile
                raise foreign_thread()
            try:
                arrive(call)
                next(shared.left, hub).switch(shared.job)
            except BaseException as error:
                shared.withdraw(call, error)
                raise
            # By its place, not the next one: an interrupt before this step leaves an answer behind.
            return shared.answers.pop(len(arrived))  # type: ignore[no-any-return]  # what `match` made

        self.suspend = suspend

    def place(self) -> tuple[object, int | None]:
        """Returns what changes whenever a task switches, and the task that runs now, None between rounds."""
        arrived, running = len(self._round.arrived), self._running
        return (self._rounds, arrived), running[arrived] if arrived < len(running) else None

    def run(self, jobs: Sequence[Job], match: Match, failed: Failed) -> None:
        """Runs all tasks to their ends; see `ReplicaTasks.run`."""
        count, arrived = len(jobs), self._round.arrived
        self._round.job = jobs[0]
        answers: dict[int, Any] = {}
        calls: list[Any] = [None] * count
        running = list(range(count))
        loop = running_loop() if EVENTS in sys.modules else None
        try:
            while True:
                finished = self._run_round(running, answers)
                self._round.job = None
                order = running
                if EVENTS in sys.modules and running_loop() is not loop:
                    require_no_loop(self._tasks, loop)
                if len(arrived) == count:
                    calls = arrived.copy()
                else:
                    _enter(arrived, running, calls)
                if finished:
                    # The others may continue if `match` answers them: the workers of a simulated cluster do.
                    running = [one for one in running if calls[one] is not FINISHED]
                    if not running:
                        return
                    self._running = running
                    self._following[: len(order) - 1] = [self._tasks[one] for one in running[1:]]
                found = match(calls, order)
                answers = dict(enumerate(found if len(running) == count else [found[one] for one in running]))
                # Of what was given to the calls, nothing is kept: it belongs to the tasks again.
                calls = [one if one is FINISHED else None for one in calls] if len(running) < count else [None] * count
                del found
        except BaseException as error:
            self._end()
            if len(arrived) < len(running):
                _enter(arrived, running, calls)
                culprit = running[len(arrived)]
                calls[culprit] = FINISHED
                failed(culprit, error, calls, running[: len(arrived)])
            clash = loop_error(self._tasks, loop)
            stop(self._tasks)
            if clash is not None and not isinstance(error, ContextError):
                raise clash from error
            raise
        finally:
            self._end()

    def _run_round(self, running: list[int], answers: dict[int, Any]) -> bool:
        """Runs these tasks until each is suspended or has returned; returns whether one has returned.

        answers: what each receives, by its place in this order; each takes its own out. Raises what a task raises: it
        is the one after those that arrived.
        """
        shared, tasks, finished = self._round, self._tasks, False
        arrived = shared.arrived
        arrived.clear()
        self._rounds += 1
        shared.answers = answers
        # The last handoff of a round goes to the hub.
        shared.following = self._following
        shared.left = iter(self._following)
        count = len(running)
        while (place := len(arrived)) < count:
            outcome = tasks[running[place]].switch(shared.job)
            if outcome is FINISHED:
                finished = True
                arrived.append(FINISHED)
                next(shared.left)  # a task that ended hands nothing over; the iterator as it is now, see `withdraw`
            elif isinstance(outcome, BaseException):
                raise outcome  # a greenlet that was ended from outside returns the exception instead of raising it
            elif len(arrived) == place:
                raise ContextError(_NOT_SUSPENDED)  # it would be resumed for ever
        return finished

    def _end(self) -> None:
        """Makes tasks that are still suspended switch to the hub, and drops all other references."""
        shared = self._round
        shared.following, shared.left = (), iter(())
        self._following.clear()


def _enter(arrived: list[Any], running: list[int], calls: list[Any]) -> None:
    for index, call in zip(running, arrived, strict=False):
        calls[index] = call
