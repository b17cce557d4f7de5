"""The types of a task, and how suspended tasks are stopped.

A task carries one replica function. `replica_tasks.py` and `handoff.py` run groups of tasks.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Protocol

__all__ = ["FINISHED", "Body", "Failed", "Job", "Match", "SuspendTask", "Task", "TaskStopped", "stop"]

SuspendTask = Callable[..., Any]
"""Suspends the task that calls it.  Its arguments, as a tuple, are the task's call; it returns the answer."""
Body = Callable[[int, SuspendTask], Any]
"""Runs as the task of this index; suspends itself by calling its second argument."""
Match = Callable[[list[Any], list[int]], Sequence[Any]]
"""Takes all tasks' calls and the order in which they arrived; returns the answers in task order."""
Failed = Callable[[int, BaseException, list[Any], list[int]], None]
"""Receives the task that raised, its exception, all tasks' latest calls, and which tasks arrived in this round."""

Job = tuple[Body, Iterator[int], list[Any], SuspendTask, SuspendTask]
"""What a pooled task receives first: its body, the source of its index, the list for its result, how it suspends
itself, and where it switches when it has finished."""

FINISHED: Final[tuple[Any, ...]] = (None,) * 5
"""Takes the place of the call of a task that has returned.  Compared by identity."""

_STOP_TRIES: Final = 100


class TaskStopped(BaseException):
    """Raised inside a suspended task whose run has ended because another task raised."""


class Task(Protocol):
    """What a greenlet offers, and a pooled thread imitates."""

    def switch(self, answer: Any, /) -> Any:
        """Runs the task until it is suspended or returns.  Returns its call or FINISHED, or raises what it raised."""
        ...

    def throw(self, error: BaseException, /) -> Any:
        """Raises `error` where the task is suspended.  Returns what `switch` returns."""
        ...


def stop(tasks: Sequence[Task], calls: list[Any]) -> None:
    """Ends all suspended tasks, in order: those whose latest call is neither None nor FINISHED."""
    for task, latest in zip(tasks, calls, strict=True):
        call, tries = latest, 0
        while call is not None and call is not FINISHED and tries < _STOP_TRIES:
            tries += 1
            try:
                call = task.throw(TaskStopped())
            except BaseException:  # noqa: BLE001 - the run has its exception already; this task only had to end
                call = FINISHED
