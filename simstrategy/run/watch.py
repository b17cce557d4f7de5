"""Notices tasks that wait for each other outside synchronization points, as for a lock that a suspended task holds.

One thread for all strategies looks at the tasks that run a few times in each limit; it begins with the first run of
several tasks and ends when there were none for a while. A task that computes is never reported, however long it takes.
A wait that no thread of this process can end is an error; any other long wait is a warning, and where warnings are
errors it ends the run as well.
"""

import math
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from pathlib import Path
from types import CodeType, FrameType
from typing import Final, final

from simstrategy.errors import ReplicasBlocked, ReplicaWaits
from simstrategy.run.blocked import Report
from simstrategy.run.frames import frames_of_threads
from simstrategy.run.reaching import is_reachable, signal_handlers
from simstrategy.run.starting import start_whole
from simstrategy.run.task import Failed, Job, Match, RunWatched, Scheduler, Task
from simstrategy.run.threads import TaskThread
from simstrategy.run.waiting import awaited_by

__all__ = ["Watch", "Watched", "watch", "watched_runs"]

_LOOKS: Final = 4
"""How often a task is looked at in each limit."""
_PERIOD_MAX_S: Final = 15.0
_IDLE_MAX: Final = 2
_SEARCH_AGAIN: Final = 2.0
_BUSY_SHARE: Final = 0.05
"""A task that uses more of the time than this computes, and does not wait."""
_USED_MAX_S: Final = 0.01
"""A thread that uses more than this goes on, also at one step."""
_TICK_S: Final = 1 / os.sysconf("SC_CLK_TCK")
_NS: Final = 1e9

_BLOCKED: Final = (
    "Replicas wait for each other outside of collectives, and none of them can go on:\n{lines}\n"
    "Replicas run one at a time, each until its next collective, and nothing else in this process can reach this "
    "{kind}. On a cluster each replica is a process with its own {kind}; in threads of one process, as in "
    "MirroredStrategy, it can hang. Pass values between replicas by collectives, and release locks before them."
)
_WAITS: Final = (
    "{name} has waited for {seconds} s outside of collectives, while the others cannot run:\n{lines}\n"
    "If it waits for another replica, it will never end: replicas run one at a time, each until its next collective. "
    "Pass values between replicas by collectives; wait_limit_s sets another limit."
)

Place = Callable[[], tuple[object, int | None]]
"""Returns what changes whenever a task switches, and the index of the task that runs now."""


@final
class Watched:
    """A run of several tasks.  name: of a task, for messages."""

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


def _nowhere() -> tuple[object, int | None]:
    return None, None


@final
class _Look:
    """What was seen of one run."""

    def __init__(self, place: object, now: float, used_s: float | None) -> None:
        self.place, self.since_s, self.used_s = place, now, used_s
        self.spot: tuple[CodeType, int] | None = None
        self.spot_since_s, self.spot_used_s = now, used_s
        self.warned = False
        self.next_search_s = 0.0
        """How long the task has to wait before its process is searched again for a way to what it waits for."""

    def stands_at(self, frame: FrameType, now: float, used_s: float | None) -> float:
        """Returns for how many seconds the thread has stood at the step where it is now."""
        spot = (frame.f_code, frame.f_lasti)
        if spot != self.spot or _passed(self.spot_used_s, used_s) > _USED_MAX_S:
            self.spot, self.spot_since_s, self.spot_used_s, self.next_search_s = spot, now, used_s, 0.0
        return now - self.spot_since_s


@final
class Watch:
    """The runs of several tasks that are going on, and the thread that looks at them."""

    def __init__(self) -> None:
        self._active: dict[Watched, None] = {}
        self._remove: Callable[[Watched, None], None] = self._active.pop
        """`_remove(watched, None)`: in one step, which no interrupt divides."""
        self._period_s = math.inf
        """Between two looks; infinite where none is wanted."""
        self._looking: threading.Thread | None = None
        self._wake = threading.Lock()
        """Released to end a wait.  Not an Event, whose own lock an interrupt can leave held."""
        self._wake.acquire()
        self._starting = threading.RLock()
        """Taken again where the collector runs a destructor meanwhile that begins a run."""

    def looks_here(self) -> bool:
        """Returns whether this thread is the one that looks: there no program runs, but destructors do."""
        return threading.current_thread() is self._looking

    def active(self) -> list[Watched]:
        """Returns the runs that are going on, a run inside of another one after it."""
        return list(self._active)

    def run(
        self,
        limit_s: float,
        name: Callable[[int], str],
        scheduler: Scheduler,
        tasks: Sequence[Task],
        jobs: Sequence[Job],
        match: Match,
        failed: Failed,
    ) -> None:
        """Runs a scheduler's tasks to their ends and looks at them meanwhile.  name: of a task, for messages.

        Raises what the run raises, and ReplicasBlocked or ReplicaWaits where it was interrupted.
        """
        watched = Watched(scheduler.place, tasks, limit_s, name)
        try:
            try:
                self._active[watched] = None
                if self._period_s * _LOOKS > limit_s:
                    self._start(min(limit_s / _LOOKS, _PERIOD_MAX_S))
                scheduler.run(jobs, match, failed)
            finally:
                self._remove(watched, None)
                with watched.looking:  # no reference to the tasks is kept from now on
                    watched.tasks, watched.place = (), _nowhere
        except BaseException as error:
            # Also where the interrupt comes while this waits for the watch: none comes after that.
            if watched.error is not None:
                raise watched.error from (None if isinstance(error, KeyboardInterrupt) else error)
            raise
        if watched.error is not None:  # the program has caught the interrupt that ended its wait
            raise watched.error

    def forget(self) -> None:
        """Begins anew, in a process that was forked: it has no thread but the one that forked it."""
        self.__init__()

    def _start(self, period_s: float) -> None:
        with self._starting:
            # Not by the period: an interrupt may have come before the thread began.
            if self._looking is None or not self._looking.is_alive():
                self._looking = threading.Thread(target=self._live, name="simstrategy watch", daemon=True)
                start_whole(self._looking)
            self._period_s = min(period_s, self._period_s)
            with suppress(RuntimeError):  # it has been woken, and has not looked yet
                self._wake.release()

    def _live(self) -> None:
        """Looks at all runs once in each period, until there were none for some periods."""
        looks: dict[Watched, _Look] = {}
        idle = 0
        while idle <= _IDLE_MAX or not self._ends():
            self._wake.acquire(timeout=min(self._period_s, _PERIOD_MAX_S))
            active = {one.hub: one for one in self.active()}  # of runs inside each other, the innermost
            idle = 0 if active else idle + 1
            looks = {one: looks[one] for one in active.values() if one in looks}
            for watched in active.values():
                with watched.looking:
                    look_at(watched, looks)

    def _ends(self) -> bool:
        with self._starting:
            period_s, self._period_s = self._period_s, math.inf
            if self._active:  # begun meanwhile, before it could see that no thread looks
                self._period_s = period_s
            else:
                self._looking = None
        return self._looking is None


def watched_runs(limit_s: float | None, name: Callable[[int], str]) -> RunWatched:
    """Returns what runs a scheduler's tasks under the watch, see `Watch.run`; without a limit nothing looks at them."""
    return _run_unwatched if limit_s is None else partial(watch().run, limit_s, name)


def _run_unwatched(
    scheduler: Scheduler, _tasks: Sequence[Task], jobs: Sequence[Job], match: Match, failed: Failed
) -> None:
    scheduler.run(jobs, match, failed)


def look_at(watched: Watched, looks: dict[Watched, _Look]) -> None:
    """Looks at one run; reports a task that waits for longer than the limit.  looks: what was seen of it before."""
    place, index = watched.place()
    frame = None if index is None else frames_of_threads().get(watched.thread_of(index))
    if index is None or frame is None or watched.error is not None:
        looks.pop(watched, None)
        return
    now, used_s = time.monotonic(), _used_s(watched.thread_of(index))
    look = looks.get(watched)
    if look is None or look.place != place:
        look = looks[watched] = _Look(place, now, used_s)
    stands_s = look.stands_at(frame, now, used_s)
    if max(stands_s, now - look.since_s) < watched.limit_s or watched.place()[0] != place:
        return
    report = Report(watched.tasks, watched.name, index, frame)
    awaited = awaited_by(frame) if stands_s >= watched.limit_s else None
    searches = awaited is not None and not awaited.ends and stands_s >= look.next_search_s
    if awaited is not None and searches and not _reaches(report, watched, awaited.thing, look, stands_s):
        kind = type(awaited.thing).__name__
        error = ReplicasBlocked(_BLOCKED.format(lines=report.lines(f"waits for {kind}"), kind=kind))
        if _interrupt(watched, index, error):
            return
    busy = _passed(look.used_s, used_s) > _BUSY_SHARE * (now - look.since_s)
    if not look.warned and not busy and now - look.since_s >= watched.limit_s:
        look.warned = True
        text = _WAITS.format(
            name=watched.name(index),
            seconds=f"{now - look.since_s:.3g}",
            lines=report.lines("waits"),
        )
        try:
            warnings.warn_explicit(ReplicaWaits(text), None, *report.site())
        except ReplicaWaits as error:  # where warnings are errors: the program does not run in this thread
            if not _interrupt(watched, index, error.with_traceback(None)):
                sys.stderr.write(f"{text}\n")


def _reaches(report: Report, watched: Watched, thing: object, look: _Look, stands_s: float) -> bool:
    """Returns whether other threads may release a thing; a search of a large process is not repeated at each look."""
    look.next_search_s = _SEARCH_AGAIN * stands_s
    return is_reachable(thing, [*signal_handlers(), *report.others(watched.hub)])


def _interrupt(watched: Watched, index: int, error: ReplicasBlocked | ReplicaWaits) -> bool:
    """Ends a run; returns whether that was possible."""
    task = watched.tasks[index]
    if isinstance(task, TaskThread):
        task.interrupt(error)
        return True
    # A lock is not interrupted by an exception, but by a signal, which reaches the main thread alone.
    main = threading.main_thread().ident
    if watched.hub != main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return False
    watched.error = error
    signal.pthread_kill(main, signal.SIGINT)
    return True


@lru_cache(maxsize=1)
def watch() -> Watch:
    """Returns the one watch of this process."""
    made = Watch()
    os.register_at_fork(after_in_child=made.forget)
    return made


def _used_s(ident: int) -> float | None:
    """Returns for how many seconds a thread has computed, or could have: the processor may have been others' meanwhile.

    None where the system does not report it.
    """
    native = next((one.native_id for one in threading.enumerate() if one.ident == ident), None)
    return _used_in(Path(f"/proc/self/task/{native}"))


def _used_in(folder: Path) -> float | None:
    """Returns the same of the thread that this folder is of; where a system reports no more, without others' time."""
    for file, used_in in (("schedstat", _with_delays), ("stat", _in_ticks)):
        try:
            return used_in((folder / file).read_text(encoding="ascii"))
        except (OSError, ValueError):
            continue
    return None


def _with_delays(text: str) -> float:
    used_ns, delayed_ns, _ = text.split()
    return (int(used_ns) + int(delayed_ns)) / _NS


def _in_ticks(text: str) -> float:
    fields = text.rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * _TICK_S


def _passed(before: float | None, now: float | None) -> float:
    return 0.0 if before is None or now is None else now - before
