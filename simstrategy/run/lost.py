"""Threads that cannot go on: each waits for others of them, or for what no thread of the process can reach.

A thread waits for all threads of which one may end its wait. It is lost where each of those is lost: where one of them
runs, waits with a time-out, or waits for something that cannot be read, it is not.
"""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FrameType
from typing import Final, final

from simstrategy.run.frames import frames_of_threads
from simstrategy.run.reaching import is_reachable, signal_handlers
from simstrategy.run.task import Task
from simstrategy.run.threads import awaited_thread
from simstrategy.run.turns import TURNS
from simstrategy.run.waiting import awaited_by, owner_of

__all__ = ["LOOKING", "Frames", "TasksOf", "Waits", "found_twice"]

_BETWEEN_LOOKS_S: Final = 0.05

LOOKING: Final = threading.RLock()
"""One thread looks at a time: what a frame names is read into one mapping for all that read it.

Taken again where the collector runs a destructor meanwhile that waits for a turn.
"""

Frames = Mapping[int, FrameType]
"""The newest frame of each thread."""
TasksOf = Callable[[int], Sequence[Task]]
"""Returns the tasks that a thread runs, suspended ones included."""
Find = Callable[["Waits"], set[int]]
"""Returns the threads that are of interest among those that cannot go on."""


@final
class Waits:
    """For which threads each thread waits, as their frames stood at one moment."""

    def __init__(self, frames: Frames, tasks_of: TasksOf) -> None:
        self._frames = frames
        self._tasks_of = tasks_of

    def circle(self, ident: int) -> set[int]:
        """Returns the threads that wait for this one, and for which it waits, if none of them can go on.

        A thread that waits for what no other one reaches is not among them: a library may end its wait from C.
        """
        waits = self._needed(ident)
        found = _reached(ident, waits) & _lost({one: needed or None for one, needed in waits.items()})
        return {one for one in found if ident in _reached(one, waits)}

    def lost_with(self, ident: int) -> set[int]:
        """Returns this thread and all for which it waits, if none of them can go on; else no thread."""
        waits = self._needed(ident)
        return set(waits) if ident in _lost(waits) else set()

    def _needed(self, ident: int) -> dict[int, set[int] | None]:
        """Returns for this thread, and for each that it needs, the threads that it needs."""
        waits: dict[int, set[int] | None] = {}
        left = [ident]
        while left:
            one = left.pop()
            if one not in waits:
                needed = waits[one] = self._threads_for(one)
                left.extend(needed or ())
        return waits

    def _threads_for(self, ident: int) -> set[int] | None:
        """Returns the threads of which one may end what this one waits for; None where it may go on without them."""
        thing = self._wait(ident)
        if thing is None or isinstance(thing, int):
            return {thing} if thing else None
        others = [one for one in self._frames if one != ident]
        running = [one for one in others if self._wait(one) is None]
        if is_reachable(thing, [*signal_handlers(), *(root for one in running for root in self._roots(one))]):
            return None
        return {one for one in others if one not in running and is_reachable(thing, self._roots(one))}

    def _wait(self, ident: int) -> object:
        """Returns what a thread waits for without end: the one thread that ends it, or a thing; None for nothing."""
        turn = TURNS.get(ident)
        if turn is not None:
            return None if turn.users.user in turn.own else turn.users.user
        frame = self._frames.get(ident)
        if frame is None:
            return None
        other = awaited_thread(frame)
        if other is not None:
            return other or None
        awaited = awaited_by(frame)
        if awaited is None or awaited.ends:
            return None
        if isinstance(awaited.thing, threading.Thread):
            return vars(awaited.thing).get("_ident")  # not by the property, which raises where one is being made
        return owner_of(awaited.thing) or awaited.thing

    def _roots(self, ident: int) -> Iterator[object]:
        yield self._frames[ident]
        yield from self._tasks_of(ident)


def found_twice(find: Find, tasks_of: TasksOf) -> tuple[set[int], Frames]:
    """Returns the threads that are found in two looks, if none of them takes a step between the looks, and all frames.

    One that waits for its turn may take steps meanwhile: it looks after it. `LOOKING` is held.
    """
    before = frames_of_threads()
    found = find(Waits(before, tasks_of))
    if not found:
        return set(), before
    steps = {one: before[one].f_lasti for one in found}
    time.sleep(_BETWEEN_LOOKS_S)
    frames = frames_of_threads()
    stay = all(one in TURNS or (frames.get(one) is before[one] and frames[one].f_lasti == steps[one]) for one in found)
    return (found if stay and find(Waits(frames, tasks_of)) == found else set()), frames


def _lost(waits: Mapping[int, set[int] | None]) -> set[int]:
    """Returns the threads that need lost threads only, or none of those that there are."""
    lost = {one for one, needed in waits.items() if needed is not None}
    while any(not (waits[one] or set()) <= lost for one in lost):
        lost = {one for one in lost if (waits[one] or set()) <= lost}
    return lost


def _reached(ident: int, waits: Mapping[int, set[int] | None]) -> set[int]:
    """Returns the threads for which a thread waits, and those for which they wait."""
    found: set[int] = set()
    left = [ident]
    while left:
        new = (waits[left.pop()] or set()) - found
        found |= new
        left.extend(new)
    return found
