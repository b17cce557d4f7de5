"""The report on a task that waits for others outside synchronization points: where each task stands."""

import threading
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Final, final

from greenlet import greenlet

from simstrategy.run.frames import frames_of_threads, users_sites
from simstrategy.run.task import Task
from simstrategy.run.threads import TaskThread
from simstrategy.run.turns import TURNS
from simstrategy.trace import Site, describe_site

__all__ = ["Report", "stack"]

_STACK_MAX: Final = 4


@final
class Report:
    """Where the tasks of one run stand.  name: of a task; index and frame: of the one that waits, and what it runs."""

    def __init__(self, tasks: Sequence[Task], name: Callable[[int], str], index: int, frame: FrameType) -> None:
        self._tasks = tasks
        self._name = name
        self._index = index
        self._frame = frame
        self._frames = frames_of_threads()

    def others(self, hub: int) -> list[FrameType]:
        """Returns the newest frames of all threads that carry none of these tasks, and do not run this function.

        hub: the thread that runs the tasks.
        """
        ours = {threading.get_ident(), hub, *(one.ident for one in self._tasks if isinstance(one, TaskThread))}
        return [frame for ident, frame in self._frames.items() if ident not in ours and not _waits_for_turn(ident, hub)]

    def site(self) -> Site:
        """Returns the user's line where the task waits."""
        sites = users_sites(self._frame)
        return sites[0] if sites else (self._frame.f_code.co_filename, self._frame.f_lineno)

    def lines(self, waits: str) -> str:
        """Returns one line for each task.  waits: what the one does that runs."""
        return "\n".join([f"  {self._name(index)}: {self._line(index, waits)}" for index in range(len(self._tasks))])

    def _line(self, index: int, waits: str) -> str:
        if index == self._index:
            return f"{waits} {stack(self._frame)}"
        task = self._tasks[index]
        if isinstance(task, TaskThread):
            frame = None if task.idle else self._frames.get(task.ident)
        else:
            frame = task.gr_frame if isinstance(task, greenlet) else None
        if frame is None or not users_sites(frame):
            return "has not started, or has returned"
        return f"suspended {stack(frame)}"


def _waits_for_turn(ident: int, hub: int) -> bool:
    """Returns whether a thread waits until the hub's run has ended, and so cannot do anything for it."""
    turn = TURNS.get(ident)
    return turn is not None and turn.users.user == hub


def stack(frame: FrameType) -> str:
    """Returns the user's lines of a stack, the newest first, as words of a message."""
    places = [describe_site(site) for site in users_sites(frame)]
    return "at " + ", called at ".join(
        places[:_STACK_MAX] or [describe_site((frame.f_code.co_filename, frame.f_lineno))]
    )
