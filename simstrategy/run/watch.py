"""Notices tasks that wait outside synchronization points for what does not come, as for a lock of a suspended task.

One thread for all strategies looks at the tasks that run a few times in each limit; it begins with the first run of
several tasks and ends when there were none for a while. A task that computes is never reported, however long it takes.
A wait that no thread of this process can end is an error; any other long wait is a warning, and where warnings are
errors it ends the run as well.
"""

import math
import os
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from functools import lru_cache, partial
from typing import Final, final

from simstrategy.run.looks import Look, Watched, look_at, nowhere
from simstrategy.run.lost import LOOKING, Frames, found_twice
from simstrategy.run.starting import start_whole
from simstrategy.run.task import Failed, Job, Match, RunWatched, Scheduler, Task, TaskStopped

__all__ = ["Watch", "watch", "watched_runs"]

_LOOKS: Final = 4
"""How often a task is looked at in each limit."""
_PERIOD_MAX_S: Final = 15.0
_IDLE_MAX: Final = 2
_PATIENCE_S: Final = 1.0
"""How long a search waits for the search of another thread, before it is left to a later look."""


@final
class Watch:
    """The runs that are going on, and the thread that looks at them."""

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

    def tasks_of(self, ident: int) -> list[Task]:
        """Returns the tasks that a thread runs, of all its runs."""
        return [task for one in self.active() if one.hub == ident for task in one.tasks]

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
                    watched.tasks, watched.place = (), nowhere
        except BaseException as error:
            # Also where the interrupt comes while this waits for the watch: none comes after that.
            if watched.error not in (None, error):
                raise watched.error from (None if isinstance(error, (KeyboardInterrupt, TaskStopped)) else error)
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
        looks: dict[Watched, Look] = {}
        idle = 0
        while idle <= _IDLE_MAX or not self._ends():
            if self._wake.acquire(timeout=min(self._period_s, _PERIOD_MAX_S)):
                idle = 0
                continue  # a run has begun that is to be looked at more often, and nothing of it stands yet
            active = {one.hub: one for one in self.active()}  # of runs inside each other, the innermost
            idle = 0 if active else idle + 1
            looks = {one: looks[one] for one in active.values() if one in looks}
            for watched in active.values():
                with watched.looking:
                    look_at(watched, looks, self._search)

    def _search(self, watched: Watched, ident: int) -> tuple[set[int], Frames]:
        """Returns the threads with which a thread of a run is lost.  The run's `looking` is held."""
        with ExitStack() as held:
            for one in self.active():
                if one is not watched:
                    held.enter_context(one.looking)
            # Not without end: a destructor may run in the other search that waits for a run, which waits for this look.
            if not LOOKING.acquire(timeout=_PATIENCE_S):
                return set(), {}
            held.callback(LOOKING.release)
            return found_twice(lambda waits: waits.lost_with(ident), self.tasks_of)

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


@lru_cache(maxsize=1)
def watch() -> Watch:
    """Returns the one watch of this process."""
    made = Watch()
    os.register_at_fork(after_in_child=made.forget)
    return made
