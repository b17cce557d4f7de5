"""A task's calls are made in its thread, and outside event loops: there alone every executor can suspend it."""

import sys
from collections.abc import Sequence
from pathlib import PurePath
from threading import current_thread, get_ident
from types import FrameType
from typing import Final, Protocol, cast, runtime_checkable

from greenlet import greenlet

from simstrategy.errors import ContextError
from simstrategy.run.frames import frames_of_threads, users_sites
from simstrategy.run.task import Task
from simstrategy.trace import describe_site

__all__ = [
    "EVENTS",
    "foreign_thread",
    "in_loops",
    "loop_error",
    "require_no_loop",
    "require_outside_loop",
    "require_own_thread",
    "require_thread",
    "running_loop",
]


class Loop(Protocol):
    """An event loop of asyncio; compared by identity."""

    def is_running(self) -> bool: ...


class _Events(Protocol):
    """The part of the module asyncio.events that is read."""

    def _get_running_loop(self) -> "Loop | None": ...


@runtime_checkable
class _InThread(Protocol):
    """A task in a thread of its own."""

    @property
    def ident(self) -> int: ...


EVENTS: Final = "asyncio.events"
"""The module of event loops.  Not imported: a program without event loops need not pay for them."""

_IN_LOOPS: Final[set[int]] = set()
"""Threads whose tasks were suspended in an event loop: where to look, for a number may be of another thread by now."""


def running_loop() -> Loop | None:
    """Returns the event loop that runs in this thread, or None."""
    events = cast("_Events | None", sys.modules.get(EVENTS))
    return None if events is None else events._get_running_loop()  # noqa: SLF001 - the public one raises where none runs


def require_thread(ident: int) -> None:
    """Raises ContextError in another thread than this one."""
    if get_ident() != ident:
        raise foreign_thread()


def require_own_thread(ident: int, loop: Loop | None) -> None:
    """Raises ContextError in another thread than this one; notes an event loop that began after `loop`.

    The loop is refused at the end of the round, where `loop_error` finds it: in greenlets it is seen there first.
    """
    require_thread(ident)
    if running_loop() is not loop:
        _IN_LOOPS.add(ident)


def require_outside_loop(loop: Loop | None) -> None:
    """Raises ContextError in an event loop that began after `loop`."""
    if running_loop() is not loop:
        raise _inside_loop(sys._getframe(2))


def in_loops(loop: Loop | None) -> bool:
    """Returns whether a task may be suspended in an event loop that began after `loop`."""
    return bool(_IN_LOOPS) or running_loop() is not loop


def foreign_thread() -> ContextError:
    """Returns the error for a call in another thread than its replica's."""
    return ContextError(
        f"A replica waits for the others in the thread that runs it, and this call was made in another one, "
        f"{current_thread().name!r}. Call it in the replica function itself, with what the other thread has computed."
    )


def loop_error(tasks: Sequence[Task], loop: Loop | None) -> ContextError | None:
    """Returns the error for tasks of which one is suspended in an event loop that began after `loop`, else None."""
    for task in tasks:
        if isinstance(task, _InThread) and task.ident in _IN_LOOPS:
            _IN_LOOPS.discard(task.ident)
            frame = frames_of_threads().get(task.ident)
            if _is_in_loop(frame):
                return _inside_loop(frame)
    found = running_loop()
    if found is loop:
        return None
    stacks = [task.gr_frame for task in tasks if isinstance(task, greenlet)]
    return _inside_loop(next(filter(_is_in_loop, stacks), None))


def require_no_loop(tasks: Sequence[Task], loop: Loop | None) -> None:
    """Raises what `loop_error` returns."""
    error = loop_error(tasks, loop)
    if error is not None:
        raise error


def _is_in_loop(frame: FrameType | None) -> bool:
    while frame is not None and PurePath(frame.f_code.co_filename).parent.name != "asyncio":
        frame = frame.f_back
    return frame is not None


def _inside_loop(frame: FrameType | None) -> ContextError:
    sites = users_sites(frame)
    where = f" at {describe_site(sites[0])}" if sites else ""
    return ContextError(
        f"A replica waits for the others inside an event loop that it runs itself (asyncio){where}. The event loops of "
        f"several replicas cannot be suspended in one thread. Call it outside of the loop, with what the loop has "
        f"returned: value = asyncio.run(...), then all_reduce(value)."
    )
