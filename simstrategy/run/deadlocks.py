"""Threads that wait for each other while one of them waits for its turn with a strategy: they are found and ended.

A thread waits for all threads of which one may end its wait. It is lost where each of those is lost: where one of them
runs, waits with a time-out, or waits for something that cannot be read, it is not.
"""

import signal
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from types import FrameType
from typing import Final, final

from simstrategy.errors import ReplicasBlocked
from simstrategy.run.blocked import Report, stack
from simstrategy.run.forced import raise_in_thread
from simstrategy.run.frames import frames_of_threads
from simstrategy.run.reaching import is_reachable, signal_handlers
from simstrategy.run.threads import awaited_thread, hubs, task_of
from simstrategy.run.turns import TURNS, Failure, Users
from simstrategy.run.waiting import awaited_by, owner_of, wake
from simstrategy.run.watch import watch
from simstrategy.trace import describe_site

__all__ = ["end_deadlock_of"]

_BETWEEN_LOOKS_S: Final = 0.05

_LOOKING: Final = threading.RLock()
"""One thread looks at a time: what a frame names is read into one mapping for all that read it.

Taken again where the collector runs a destructor meanwhile that waits for a turn.
"""

_BLOCKED: Final = (
    "Threads wait for each other, and none of them can go on:\n{lines}\n"
    "One strategy is used by one thread at a time, and a call waits until the call before it has ended. On a cluster "
    "each process keeps the same rule: it would hang there, and the others with it. Read data, write variables and "
    "begin runs before or after a run, or do not wait for another thread's call inside of it."
)

Frames = Mapping[int, FrameType]


def end_deadlock_of(ident: int) -> None:
    """Ends the waits of all threads that wait for each other, if this one is among them: they raise ReplicasBlocked."""
    with _LOOKING:
        _end_deadlock_of(ident)


def _end_deadlock_of(ident: int) -> None:
    frames = frames_of_threads()
    members = _Search(frames).circle(ident)
    if not members or TURNS[ident].error is not None:
        return
    before = {one: frames[one].f_lasti for one in members}
    time.sleep(_BETWEEN_LOOKS_S)
    again = frames_of_threads()
    stay = all(one in TURNS or (again.get(one) is frames[one] and again[one].f_lasti == before[one]) for one in members)
    if not stay or _Search(again).circle(ident) != members or TURNS[ident].error is not None:
        return
    _fail(members, again, _BLOCKED.format(lines="\n".join(_lines(members, again))))


def _fail(members: set[int], frames: Frames, text: str) -> None:
    """Ends the calls for which these threads wait, and then their waits; none where one of the calls has just ended."""
    turns = [TURNS[one] for one in members if one in TURNS]
    failures: dict[Users, Failure] = {}
    users = set()
    try:
        for turn in turns:
            user = turn.users.user
            failure = failures.setdefault(turn.users, Failure(ReplicasBlocked(text)))
            if user is None or user not in members or not turn.users.fail(user, failure):
                _withdraw(failures.values())
                return
            users.add(user)
        for user in users:
            _interrupt(user, frames, list(failures.values()))
        for turn in turns:
            turn.error = ReplicasBlocked(text)
    finally:
        for failure in failures.values():
            failure.sent = True


@final
class _Search:
    """For which threads each thread waits, as their frames stood at one moment."""

    def __init__(self, frames: Frames) -> None:
        self._frames = frames

    def circle(self, ident: int) -> set[int]:
        """Returns the threads that wait for this one, and for which it waits, if none of them can go on."""
        waits: dict[int, set[int]] = {}
        left = [ident]
        while left:
            one = left.pop()
            if one not in waits:
                waits[one] = self._threads_for(one)
                left.extend(waits[one])
        lost = set(waits)
        while any(not waits[one] or not waits[one] <= lost for one in lost):
            lost = {one for one in lost if waits[one] and waits[one] <= lost}
        found = _reached(ident, waits) & lost if ident in lost else set()
        return {one for one in found if ident in _reached(one, waits)}

    def _threads_for(self, ident: int) -> set[int]:
        """Returns the threads of which one may end what this one waits for; none where it may go on without them."""
        thing = self._wait(ident)
        if thing is None or isinstance(thing, int):
            return {thing} if thing else set()
        running = [one for one in self._frames if one != ident and self._wait(one) is None]
        if is_reachable(thing, [*signal_handlers(), *(root for one in running for root in self._roots(one))]):
            return set()
        others = [one for one in self._frames if one != ident and one not in running]
        return {one for one in others if is_reachable(thing, self._roots(one))}

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
            return awaited.thing.ident
        return owner_of(awaited.thing) or awaited.thing

    def _roots(self, ident: int) -> list[object]:
        tasks = [task for one in watch().active() if one.hub == ident for task in one.tasks]
        return [self._frames[ident], *tasks]


def _reached(ident: int, waits: Mapping[int, set[int]]) -> set[int]:
    """Returns the threads for which a thread waits, and those for which they wait."""
    found: set[int] = set()
    left = [ident]
    while left:
        new = waits[left.pop()] - found
        found |= new
        left.extend(new)
    return found


def _withdraw(failures: Iterable[Failure]) -> None:
    for failure in failures:
        failure.withdrawn = True


def _interrupt(user: int, frames: Frames, failures: Sequence[Failure]) -> None:
    """Ends what a thread waits for in its call, unless that is a turn: those end without this."""
    runs = user
    while (frame := frames.get(runs)) is not None and task_of(frame) is not None:
        runs = awaited_thread(frame) or 0
    task = task_of(frames[user])
    if frame is None or runs in TURNS:
        return
    if task is not None:
        task.interrupt(failures[0].error)
    elif user == threading.main_thread().ident and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        for failure in failures:
            failure.signals += 1
        signal.pthread_kill(user, signal.SIGINT)
    else:
        raise_in_thread(user)
        wake(frame)


def _lines(members: set[int], frames: Frames) -> list[str]:
    names = {one.ident: one.name for one in threading.enumerate()}
    carried = hubs()
    lines = []
    for one in members:
        turn, frame, name = TURNS.get(one), frames[one], names.get(one)
        runs = [watched for watched in watch().active() if watched.hub == one]
        if turn is not None:
            until = "" if turn.users.place is None else f" at {describe_site(turn.users.place)}"
            user = names.get(turn.users.user or 0)
            lines.append(
                f"  thread {name!r} waits at {describe_site(turn.site)} until thread {user!r} has ended its call of "
                f"the same strategy{until}"
            )
        elif not runs and one not in carried:
            lines.append(f"  thread {name!r} waits for {_kind(frame)} {stack(frame)}")
        for watched in runs:
            _, index = watched.place()
            newest = None if index is None else frames.get(watched.thread_of(index))
            if index is not None and newest is not None:
                what = "waits for its turn" if watched.thread_of(index) in TURNS else f"waits for {_kind(newest)}"
                report = Report(watched.tasks, watched.name, index, newest)
                lines.append(f"  thread {name!r} runs:\n{report.lines(what)}".replace("\n", "\n  "))
    return sorted(lines)


def _kind(frame: FrameType) -> str:
    awaited = awaited_by(frame)
    thing = None if awaited is None else awaited.thing
    name = f" {thing.name!r}" if isinstance(thing, threading.Thread) else ""
    return "another thread" if thing is None else f"{type(thing).__name__}{name}"
