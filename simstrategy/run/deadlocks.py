"""Threads that wait for each other while one of them waits for its turn with a strategy: they are found and ended."""

import threading
from collections.abc import Iterable, Sequence
from typing import Final

from simstrategy.errors import ReplicasBlocked
from simstrategy.run.blocked import Report, thread_line
from simstrategy.run.ending import end_wait, interrupt_main, is_interruptible
from simstrategy.run.forced import raise_in_thread
from simstrategy.run.lost import LOOKING, Frames, found_twice
from simstrategy.run.threads import awaited_thread, hubs, task_of
from simstrategy.run.turns import TURNS, Failure, Users
from simstrategy.run.waiting import kind_of_wait
from simstrategy.run.watch import watch

__all__ = ["end_deadlock_of"]

_BLOCKED: Final = (
    "Threads wait for each other, and none of them can go on:\n{lines}\n"
    "One strategy is used by one thread at a time, and a call waits until the call before it has ended. On a cluster "
    "each process keeps the same rule: it would hang there, and the others with it. Read data, write variables and "
    "begin runs before or after a run, or do not wait for another thread's call inside of it."
)


def end_deadlock_of(ident: int) -> None:
    """Ends the waits of all threads that wait for each other, if this one is among them: they raise ReplicasBlocked."""
    with LOOKING:
        members, frames = found_twice(lambda waits: waits.circle(ident), watch().tasks_of)
        if members and TURNS[ident].error is None:
            _fail(members, frames, _BLOCKED.format(lines="\n".join(_lines(members, frames))))


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
    elif is_interruptible(user):
        for failure in failures:
            failure.signals += 1
        interrupt_main(user)
    elif not end_wait(user, frame):
        raise_in_thread(user)  # which goes on when the thread for which it waits has ended


def _lines(members: set[int], frames: Frames) -> list[str]:
    carried = hubs()
    lines = []
    for one in members:
        runs = [watched for watched in watch().active() if watched.hub == one]
        if one in TURNS or (not runs and one not in carried):
            lines.append(thread_line(one, frames[one]))
        for watched in runs:
            _, index = watched.place()
            newest = None if index is None else frames.get(watched.thread_of(index))
            if index is not None and newest is not None:
                waits = "its turn" if watched.thread_of(index) in TURNS else kind_of_wait(newest)
                report = Report(watched.tasks, watched.name, index, newest)
                name = next((thread.name for thread in threading.enumerate() if thread.ident == one), None)
                text = report.lines(f"waits for {waits}")
                lines.append(f"  thread {name!r} runs:\n{text}".replace("\n", "\n  "))
    return sorted(lines)
