"""The types of a task, and what stops one.

A task carries one replica function. `hub.py` and `handoff.py` run groups of tasks; `stopping.py` ends them.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Protocol

__all__ = [
    "FINISHED",
    "Body",
    "Choose",
    "Failed",
    "ForcedStop",
    "Job",
    "Match",
    "RunTasks",
    "RunWatched",
    "Scheduler",
    "SuspendTask",
    "Task",
    "TaskStopped",
]

SuspendTask = Callable[..., Any]
"""Suspends the task that calls it.  Its arguments, as a tuple, are the task's call; it returns the answer."""
Body = Callable[[int, SuspendTask], Any]
"""Runs as the task of this index; suspends itself by calling its second argument."""
Match = Callable[[list[Any], list[int]], Sequence[Any]]
"""Takes all tasks' calls and the order in which they arrived; returns the answers in task order."""
Failed = Callable[[int, BaseException, list[Any], list[int]], None]
"""Receives the task that raised, its exception, all tasks' latest calls, and which tasks arrived in this round."""

Choose = Callable[[str, int], int]
"""Of n things with a label the one that comes next; see `Schedule.choose`."""
RunTasks = Callable[[int, Body, Match, Failed], list[Any]]
"""Runs `body(index, suspend)` in so many tasks to their ends, and returns their results in order."""

Job = tuple[Body, Iterator[int], list[Any], SuspendTask, SuspendTask]
"""What a pooled task receives first: its body, the source of its index, the list for its result, how it suspends
itself, and where it switches when it has finished."""

FINISHED: Final[tuple[Any, ...]] = (None,) * 5
"""Takes the place of the call of a task that has returned.  Compared by identity."""


class TaskStopped(BaseException):
    """Raised inside a suspended task whose run has ended because another task raised."""


class ForcedStop(TaskStopped):
    """Raised inside a task that has caught TaskStopped again and again: its `except` blocks are interrupted too."""


class Task(Protocol):
    """What a greenlet offers, and a pooled thread imitates."""

    @property
    def dead(self) -> bool:
        """Whether nothing of the run is left in the task."""
        ...

    def switch(self, answer: Any, /) -> Any:
        """Runs the task until it is suspended or returns.  Returns its call or FINISHED, or raises what it raised."""
        ...

    def throw(self, error: BaseException, /) -> Any:
        """Raises `error` where the task is suspended.  Returns what `switch` returns."""
        ...


class Scheduler(Protocol):
    """Runs one group of tasks."""

    def place(self) -> tuple[object, int | None]:
        """Returns what changes whenever a task switches, and the task that runs now, None between rounds."""
        ...

    def run(self, jobs: Sequence[Job], match: Match, failed: Failed) -> None:
        """Runs all tasks to their ends; see `ReplicaTasks.run`."""
        ...


RunWatched = Callable[[Scheduler, Sequence[Task], Sequence[Job], Match, Failed], None]
"""Runs a scheduler's tasks to their ends, each with its job."""
