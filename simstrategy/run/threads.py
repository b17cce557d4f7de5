"""Threads that carry tasks: one runs at a time, and each may be given up at any moment.

An interrupt may reach the hub, the thread that runs a group, at any step. So a thread is used again only where the hub
has seen that its last job has ended; any other is ended. One that the hub has lost is ended by C, in one step.
"""

import sys
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from contextvars import Context, copy_context
from types import FrameType
from typing import Any, Final, final

from simstrategy.run.forced import raise_in_thread, raise_no_more, raise_until
from simstrategy.run.own_thread import require_own_thread
from simstrategy.run.starting import start_whole, until_started
from simstrategy.run.stopping import STOP_TRIES
from simstrategy.run.task import FINISHED, ForcedStop, TaskStopped

__all__ = ["TaskThread", "ThreadPool", "awaited_thread", "hubs", "task_of"]

_STOP_WAIT_S: Final = 5.0
"""How long the hub waits for a thread that runs to end: it ends at its next step of Python code."""
_BLOCKED_WAIT_S: Final = 0.5
"""The same for one that waits for something that other tasks may have released while they were stopped."""


_TAKEN: Final = ((), None)
"""In place of a call that the hub has taken."""


@final
class _Throw:
    """An answer that is raised where the task is suspended."""

    __slots__ = ("error",)

    def __init__(self, error: BaseException) -> None:
        self.error = error


@final
class _Channel:
    """What the hub and one thread share.  The thread has no reference to its `TaskThread`, whose end ends it."""

    __slots__ = (
        "__weakref__",
        "answer",
        "back",
        "changing",
        "context",
        "ended",
        "forced",
        "go",
        "hub",
        "ident",
        "lost",
        "outcome",
        "runs",
        "stops",
    )

    def __init__(self) -> None:
        self.go, self.back = threading.Lock(), threading.Lock()
        """Released by the hub where the thread may run, and by the thread where the hub may run."""
        self.go.acquire()
        self.back.acquire()
        self.answer: Any = None
        self.context: Context | None = None
        self.outcome: tuple[Any, BaseException | None] = (FINISHED, None)
        """The latest call, and what the task raised instead."""
        self.ended: list[object] = []
        """Not empty: the thread is given up, and only has to end.  A list, because one call of C can fill it."""
        self.lost: tuple[object, ...] = ()
        """References to its `TaskThread`, which end the thread where that one is gone."""
        self.changing = threading.Lock()
        self.runs = False
        """Whether a job runs and is not suspended; changed while `changing` is held."""
        self.ident = 0
        self.hub = 0
        """The thread that runs the job's group."""
        self.stops, self.forced = 0, False
        """How often the task was stopped after the thread was given up, and whether its steps are interrupted."""

    def suspend(self, *call: Any) -> Any:
        """Suspends the thread's task: see `SuspendTask`."""
        require_own_thread(self.ident, None)
        if not self.ended:
            self.outcome = (call, None)
            self._wait()
        if self.ended:
            self.stops += 1
        answer, self.answer = self.answer, None
        forced = type(answer) is _Throw and type(answer.error) is ForcedStop
        if forced or self.stops > STOP_TRIES:
            self.forced = True
            raise_until(sys._getframe(1), _Channel._run_job.__code__)
        if self.ended:
            raise TaskStopped
        if type(answer) is _Throw:
            try:
                raise answer.error
            finally:
                del answer  # the error's traceback refers to this frame
        return answer.pop()

    def _wait(self) -> None:
        with self.changing:
            self.runs = False
        if not self.ended:
            with suppress(RuntimeError):  # the hub was interrupted, and has not waited
                self.back.release()
            self.go.acquire()
        with self.changing:
            self.runs = not self.ended

    def live(self) -> None:
        """The life of the thread: one job after the other, until it is given up."""
        self.ident = threading.get_ident()
        with suppress(TaskStopped):  # raised from outside, in a thread that is given up
            _CARRIED[self.ident] = self
            self.go.acquire()
            while not self.ended:
                error = self._run_job()
                if self.forced:
                    try:
                        raise_no_more(None)
                    except TaskStopped:  # the last one that was scheduled
                        raise_no_more(None)
                # Nothing of the run is kept: it refers to the strategy, whose end ends this thread.
                self.outcome, self.answer, self.context = (FINISHED, error), None, None
                del error
                self._wait()
        _CARRIED.pop(self.ident, None)

    def _run_job(self) -> BaseException | None:
        """Runs one job; returns what it raised."""
        assert self.context is not None
        with self.changing:
            self.runs = not self.ended
        try:
            body, indices, results, suspend, _ = self.answer
            index = next(indices)
            results[index] = self.context.run(body, index, suspend)
        except BaseException as raised:  # noqa: BLE001 - carried to the thread that called run, and raised there
            return raised
        return None

    def end(self) -> None:
        """Makes the thread end: at once where it waits, at its next step where it runs."""
        self.ended.append(None)
        with self.changing:
            if self.runs:
                until_started(self.ident)
                self.runs = False
                raise_in_thread(self.ident)
        with suppress(RuntimeError):  # it is not waiting
            self.go.release()
        self.lost = ()


_CARRIED: Final[dict[int, _Channel]] = {}
"""The channel of each thread that lives, also of some that have ended by force."""


def hubs() -> dict[int, int]:
    """Returns for each thread that carries a task the thread that runs the task's group."""
    # Not by `items`: the collector may run where a pair is made, and a destructor may begin or end a thread meanwhile.
    return {one.ident: one.hub for one in list(_CARRIED.values()) if one.hub and not one.ended}


@final
class TaskThread:
    """The hub's side of one pooled thread."""

    __slots__ = ("__weakref__", "_channel", "_error", "_settled", "_thread", "suspend")

    def __init__(self) -> None:
        channel = self._channel = _Channel()
        self._settled = True
        """Whether the hub has seen what the thread did since the last switch."""
        self._error: BaseException | None = None
        self.suspend = channel.suspend
        # A daemon: a suspended thread must never keep a failing interpreter alive.
        self._thread = threading.Thread(target=channel.live, name="simstrategy task", daemon=True)
        weakref.finalize(self, _finish, channel, self._thread)
        # The last one made is called first. These two are functions of C: no interrupt comes before or between them, as
        # it may in `_finish`, and a thread that waits ends.
        release: Callable[[object], None] = channel.go.__exit__  # type: ignore[assignment]  # takes anything
        channel.lost = (weakref.ref(self, release), weakref.ref(self, channel.ended.append))
        start_whole(self._thread)

    @property
    def dead(self) -> bool:
        """Whether nothing of a run is left in the thread, or it is given up."""
        return bool(self._channel.ended) or self.idle

    @property
    def idle(self) -> bool:
        """Whether the thread waits for a job, and may be given one: also if its last one never started."""
        left = not self._settled or self._error is not None
        return not left and not self._channel.ended and self._channel.outcome[0] is FINISHED

    @property
    def ident(self) -> int:
        return self._channel.ident

    def begin(self) -> None:
        """Sets the context of the next job: a copy of the caller's."""
        self._channel.context, self._channel.hub = copy_context(), threading.get_ident()

    def switch(self, answer: Any, /) -> Any:
        channel = self._channel
        self._settled = False
        channel.answer = answer
        del answer
        channel.go.release()
        channel.back.acquire()
        if self._error is not None:
            raise self._error
        call, error = channel.outcome
        self._settled = True
        if error is not None:
            channel.outcome = (FINISHED, None)
            try:
                raise error
            finally:
                del error  # its traceback refers to this frame
        if call is not FINISHED:
            channel.outcome = _TAKEN
        return call

    def throw(self, error: BaseException, /) -> Any:
        if self._settled and self._error is None:
            try:
                return self.switch(_Throw(error))
            finally:
                del error  # its traceback refers to this frame
        self.end(_STOP_WAIT_S if self._error is None else _BLOCKED_WAIT_S)
        return FINISHED

    def interrupt(self, error: BaseException) -> None:
        """Makes the hub, which waits for this thread, raise an error: for other threads."""
        self._error = error
        with suppress(RuntimeError):  # the thread has just done so
            self._channel.back.release()

    def end(self, wait_s: float = _STOP_WAIT_S) -> None:
        """Ends the thread, and waits so long for it."""
        self._channel.end()
        if self._thread is not threading.current_thread():
            self._thread.join(wait_s)


def task_of(frame: FrameType) -> TaskThread | None:
    """Returns the task whose call the hub waits for whose newest frame this is; None where it waits for none."""
    task = frame.f_locals.get("self") if frame.f_code is TaskThread.switch.__code__ else None
    return task if isinstance(task, TaskThread) else None


def awaited_thread(frame: FrameType) -> int | None:
    """Returns for which thread a hub waits, or a task that is suspended; 0 where it goes on at once.

    frame: the newest one. None for any other.
    """
    if frame.f_code is TaskThread.switch.__code__:
        channel = frame.f_locals.get("channel")
        return channel.ident if isinstance(channel, _Channel) and channel.back.locked() else 0
    if frame.f_code is _Channel._wait.__code__:  # noqa: SLF001 - this module's
        channel = frame.f_locals["self"]
        return int(channel.hub) if channel.go.locked() else 0
    return None


def _finish(channel: _Channel, thread: threading.Thread) -> None:
    """Ends a thread that runs and of which no reference is left; one that waits is gone when this returns."""
    waits = not channel.runs
    channel.end()
    if waits and threading.get_ident() not in _CARRIED:  # in a task, what ends it meanwhile would be lost in here
        with suppress(RuntimeError):  # its start was interrupted, and has not ended yet
            thread.join(_BLOCKED_WAIT_S)


@final
class ThreadPool:
    """Idle threads, kept from run to run."""

    __slots__ = ("_idle",)

    def __init__(self) -> None:
        self._idle: list[TaskThread] = []

    def take(self, count: int) -> list[TaskThread]:
        """Returns threads, each with a copy of the caller's context."""
        threads = []
        for _ in range(count):
            try:
                thread = self._idle.pop()
            except IndexError:
                thread = TaskThread()
            if not thread.idle:  # interrupted by another thread when its run had just ended
                thread.end()
                thread = TaskThread()
            thread.begin()
            threads.append(thread)
        return threads

    def give_back(self, threads: list[TaskThread]) -> None:
        """Keeps the threads that are idle, and ends the others."""
        self._idle.extend([thread for thread in threads if thread.idle])
        for thread in threads:
            if not thread.dead:
                thread.end()

    def close(self) -> None:
        """Ends the idle threads."""
        while self._idle:
            self._idle.pop().end()
