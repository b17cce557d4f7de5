"""The report on a task that waits outside synchronization points: where each task stands, and each other thread."""

import threading
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Final, final

from greenlet import greenlet

from simstrategy.run.frames import frames_of_threads, users_sites
from simstrategy.run.task import Task
from simstrategy.run.threads import TaskThread
from simstrategy.run.turns import TURNS
from simstrategy.run.waiting import kind_of_wait
from simstrategy.trace import Site, describe_site

__all__ = ["Report", "stack", "thread_line"]

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


def thread_line(ident: int, frame: FrameType) -> str:
    """Returns one line for a thread that carries no task.  frame: its newest."""
    names, turn = {one.ident: one.name for one in threading.enumerate()}, TURNS.get(ident)
    name = names.get(ident)
    if turn is None:
        return f"  thread {name!r} waits for {kind_of_wait(frame)} {stack(frame)}"
    until = "" if turn.users.place is None else f" at {describe_site(turn.users.place)}"
    user = names.get(turn.users.user or 0)
    return (
        f"  thread {name!r} waits at {describe_site(turn.site)} until thread {user!r} has ended its call of the same "
        f"strategy{until}"
    )


def stack(frame: FrameType) -> str:
    """Returns the user's lines of a stack, the newest first, as words of a message."""
    places = [describe_site(site) for site in users_sites(frame)]
    return "at " + ", called at ".join(
        places[:_STACK_MAX] or [describe_site((frame.f_code.co_filename, frame.f_lineno))]
    )
