"""What the watch sees of one run of tasks, and what it does where a task waits for longer than the limit."""

import sys
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from types import CodeType, FrameType
from typing import Final, final

from simstrategy.errors import ReplicasBlocked, ReplicaWaits
from simstrategy.run.blocked import Report, thread_line
from simstrategy.run.ending import end_lost_wait, end_wait, interrupt_main, is_interruptible
from simstrategy.run.frames import frames_of_threads
from simstrategy.run.lost import Frames
from simstrategy.run.task import Task
from simstrategy.run.threads import TaskThread, hubs
from simstrategy.run.used_time import passed, used_s
from simstrategy.run.waiting import awaited_by, kind_of_wait

__all__ = ["Look", "Watched", "look_at", "nowhere"]

_SEARCH_AGAIN: Final = 2.0
_MOVING_LIMITS: Final = 2
"""After so many limits a task is reported that takes steps, and computes nothing."""
_BUSY_SHARE: Final = 0.05
"""A task that uses more of the time than this computes, and does not wait."""
_USED_MAX_S: Final = 0.01
"""A thread that uses more than this goes on, also at one step."""

_BLOCKED: Final = (
    "Replicas wait for each other outside of collectives, and none of them can go on:\n{lines}\n"
    "Replicas run one at a time, each until its next collective, and nothing else in this process can end this wait. "
    "On a cluster each replica is a process with its own {kind}; in threads of one process, as in MirroredStrategy, it "
    "can hang. Pass values between replicas by collectives, and release locks before them."
)
_ALONE: Final = (
    "The replica of this process waits outside of collectives, and nothing in this process can end the wait:\n"
    "{lines}\nThe replicas of other processes wait for it at their next collective; each process has its own {kind}. "
    "Pass values between replicas by collectives."
)
_WAITS: Final = (
    "{name} has waited for {seconds} s outside of collectives, while the others cannot run:\n{lines}\n"
    "If it waits for another replica, it will never end: replicas run one at a time, each until its next collective. "
    "Pass values between replicas by collectives; wait_limit_s sets another limit."
)

Place = Callable[[], tuple[object, int | None]]
"""Returns what changes whenever a task switches, and the index of the task that runs now."""


Spot = tuple[CodeType, int]
"""A step of a program."""
Search = Callable[["Watched", int], tuple[set[int], Frames]]
"""Returns a thread of a run and all for which it waits, if none of them can go on, and the frames of all threads."""


@final
class Watched:
    """A run of tasks.  name: of a task, for messages."""

    __slots__ = ("error", "hub", "limit_s", "looking", "name", "place", "tasks")

    def __init__(self, place: Place, tasks: Sequence[Task], limit_s: float, name: Callable[[int], str]) -> None:
        self.place = place
        self.tasks = tasks
        self.limit_s = limit_s
        self.name = name
        self.hub = threading.get_ident()
        self.looking = threading.Lock()
        """Held while the watch looks: a greenlet whose last reference another thread drops can end a wrong one."""
        self.error: ReplicasBlocked | ReplicaWaits | None = None
        """Why the run was interrupted, where the watch has done so."""

    def thread_of(self, index: int) -> int:
        """Returns the thread of the task that runs."""
        task = self.tasks[index]
        return task.ident if isinstance(task, TaskThread) else self.hub


def nowhere() -> tuple[object, int | None]:
    """Returns the place in a run that has ended."""
    return None, None


@final
class Look:
    """What was seen of one run."""

    def __init__(self, place: object, now: float, used_s: float | None) -> None:
        self.place, self.since_s, self.used_s = place, now, used_s
        self.spot: Spot | None = None
        self.spot_since_s, self.spot_used_s = now, used_s
        self.warned = False
        self.next_search_s = 0.0
        """How long the task has to wait before its process is searched again for a way to what it waits for."""

    def stands_at(self, spot: Spot, now: float, used_s: float | None) -> float:
        """Returns for how many seconds the thread has stood at the step where it is now."""
        if spot != self.spot or passed(self.spot_used_s, used_s) > _USED_MAX_S:
            self.spot, self.spot_since_s, self.spot_used_s, self.next_search_s = spot, now, used_s, 0.0
        return now - self.spot_since_s


def look_at(watched: Watched, looks: dict[Watched, Look], search: Search) -> None:
    """Looks at one run; reports a task that waits for longer than the limit.

    looks: what was seen of it before. search: finds the threads with which a thread is lost.
    """
    place, index = watched.place()
    if index is None or (watched.error is not None and isinstance(watched.tasks[index], TaskThread)):
        looks.pop(watched, None)
        return
    ident = watched.thread_of(index)
    now, used_now_s = time.monotonic(), used_s(ident)
    spot = _spot_of(ident)
    if spot is None:
        looks.pop(watched, None)
        return
    look = looks.get(watched)
    if look is None or look.place != place:
        look = looks[watched] = Look(place, now, used_now_s)
    stands_s = look.stands_at(spot, now, used_now_s)
    if max(stands_s, now - look.since_s) < watched.limit_s:
        return
    frame = frames_of_threads().get(ident)
    if frame is None or watched.place()[0] != place:
        return
    awaited = awaited_by(frame) if stands_s >= watched.limit_s else None
    if awaited is not None and not awaited.ends and stands_s >= look.next_search_s:
        look.next_search_s = _SEARCH_AGAIN * stands_s  # a search of a large process is not repeated at each look
        lost, frames = search(watched, ident)
        if lost and _end_lost(watched, index, lost, frames):
            return
    busy = passed(look.used_s, used_now_s) > _BUSY_SHARE * (now - look.since_s)
    # One that stands where it is for less than the limit may be found lost yet: an error alone is clearer.
    is_long = stands_s >= watched.limit_s or now - look.since_s >= _MOVING_LIMITS * watched.limit_s
    if is_long and not look.warned and not busy and len(watched.tasks) > 1 and watched.error is None:
        look.warned = True
        _warn(watched, index, frame, now - look.since_s)


def _spot_of(ident: int) -> Spot | None:
    """Returns where a thread is.

    Its frame is not kept while this thread waits, as for a file: what its variables name would end here, and late.
    """
    frame = frames_of_threads().get(ident)
    return None if frame is None else (frame.f_code, frame.f_lasti)


def _end_lost(watched: Watched, index: int, lost: set[int], frames: Frames) -> bool:
    """Ends a run whose task cannot go on; returns whether that was possible."""
    frame = frames[watched.thread_of(index)]
    kind, carry = kind_of_wait(frame), {watched.hub, *hubs()}
    threads = sorted(thread_line(one, frames[one]) for one in lost - carry)
    lines = "\n".join([Report(watched.tasks, watched.name, index, frame).lines(f"waits for {kind}"), *threads])
    text = _ALONE if len(watched.tasks) == 1 else _BLOCKED
    error = ReplicasBlocked(text.format(lines=lines, kind=kind.partition(" ")[0]))
    return _interrupt(watched, index, error, lambda: end_lost_wait(watched.hub, frames))


def _warn(watched: Watched, index: int, frame: FrameType, waited_s: float) -> None:
    """Warns of a wait that may end; where the warning is an error, it ends the run."""
    report = Report(watched.tasks, watched.name, index, frame)
    text = _WAITS.format(name=watched.name(index), seconds=f"{waited_s:.3g}", lines=report.lines("waits"))
    try:
        warnings.warn_explicit(ReplicaWaits(text), None, *report.site())
    except ReplicaWaits as error:  # where warnings are errors: the program does not run in this thread
        if not _interrupt(watched, index, error.with_traceback(None), lambda: end_wait(watched.hub, frame)):
            sys.stderr.write(f"{text}\n")


def _interrupt(watched: Watched, index: int, error: ReplicasBlocked | ReplicaWaits, end: Callable[[], bool]) -> bool:
    """Ends a run; returns whether that was possible.  end: ends the wait of a thread that Ctrl-C does not interrupt."""
    before = watched.error
    watched.error = error if before is None else before  # a task that waits again, in a `finally` block, is ended again
    task = watched.tasks[index]
    if isinstance(task, TaskThread):
        task.interrupt(error)
        return True
    if is_interruptible(watched.hub):
        interrupt_main(watched.hub)
        return True
    if end():
        return True
    watched.error = before
    return False
