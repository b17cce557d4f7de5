"""Threads that a program has left behind and that cannot go on: Python waits for them when it ends, for ever."""

import threading
import time
from collections.abc import Callable, Sequence
from typing import Final

from simstrategy.run.blocked import thread_line
from simstrategy.run.lost import LOOKING, Waits, found_twice
from simstrategy.run.task import Task

__all__ = ["when_left_for_ever"]

_LOOK_S: Final = 0.5
_PATIENCE_S: Final = 1.0
"""How long a search waits for the search of another thread."""


def when_left_for_ever(act: Callable[[list[str]], None]) -> None:
    """Looks, from a thread of its own, until no thread is left for which Python waits and that may go on.

    act: is called then, with a line for each thread that cannot; not where none is left.
    """
    if _left():
        threading.Thread(target=_look, args=(act,), name="simstrategy exit", daemon=True).start()


def _look(act: Callable[[list[str]], None]) -> None:
    while True:
        time.sleep(_LOOK_S)
        lines = _left_for_ever()
        if lines:
            act(lines)
            return


def _left_for_ever() -> list[str]:
    """Returns a line for each thread for which Python waits when it ends, if none of them can go on; else none."""
    left = _left()
    if not left or not LOOKING.acquire(timeout=_PATIENCE_S):
        return []
    try:
        found, frames = found_twice(lambda waits: _all_lost(waits, left), _no_tasks)
        return sorted(thread_line(one, frames[one]) for one in found) if _left() == left else []
    finally:
        LOOKING.release()


def _left() -> set[int]:
    main = threading.main_thread()
    others = [one for one in threading.enumerate() if one is not main and not one.daemon]
    return {one.ident for one in others if one.ident is not None and one.is_alive()}


def _all_lost(waits: Waits, left: set[int]) -> set[int]:
    return left if all(waits.lost_with(one) for one in left) else set()


def _no_tasks(_ident: int) -> Sequence[Task]:
    return ()
