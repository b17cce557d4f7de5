"""The keeper of one worker: its parent, which forks it, ends every process that its jobs started, and then itself.

Linux gives a process whose parent has ended to the nearest ancestor that is a "child subreaper", as each keeper is. So
what a job starts stays below its keeper, in whatever session it is and however often it forked. Out of reach are
processes that run as another user. The keeper runs no jobs.
"""

import ctypes
import os
import select
import signal
import time
from collections.abc import Callable, Container, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple, NoReturn

__all__ = ["KeptWorker", "adopt_orphans", "end_children", "end_worker", "lost_in_a_fork", "start_worker"]

_PROCESSES: Final = Path("/proc")
_DIE_WITH_PARENT: Final = 1
"""Linux: prctl(PR_SET_PDEATHSIG, …)."""
_CHILD_SUBREAPER: Final = 36
"""Linux: prctl(PR_SET_CHILD_SUBREAPER, …)."""
_JEMALLOC: Final = "jemalloc_bg_thd"
_NUMBER_BYTES: Final = 4
_END_S: Final = 4.0
"""How long killed processes may take to end; one that waits for a disk takes longer."""
_PAUSE_S: Final = 0.001


class KeptWorker(NamedTuple):
    """A worker, by process numbers."""

    process: int
    keeper: int
    report: int
    """The file descriptor from which `end_worker` reads how the worker ended."""


def start_worker(work: Callable[[], int], closed: Iterable[int]) -> KeptWorker:
    """Starts a keeper and its worker, which calls `work` and ends with the exit code that it returns.

    closed: file descriptors of this process that the keeper is not to keep.
    """
    report, writing = os.pipe()
    parent = os.getpid()
    keeper = os.fork()
    if not keeper:
        _keep(work, (report, *closed), writing, parent)
    os.close(writing)
    return KeptWorker(int.from_bytes(os.read(report, _NUMBER_BYTES)), keeper, report)


def end_worker(worker: KeptWorker) -> int:
    """Ends a worker unless it has ended; returns its exit code, negative for a signal, when its processes have ended.

    If a job has stopped or killed the keeper, what is left comes to this process: see `end_children`.
    """
    for number in (signal.SIGTERM, signal.SIGCONT):
        os.kill(worker.keeper, number)
    poll = select.poll()
    poll.register(worker.report, select.POLLIN)
    code = os.read(worker.report, _NUMBER_BYTES) if poll.poll(2 * _END_S * 1000) else b""
    os.close(worker.report)
    os.kill(worker.keeper, signal.SIGKILL)
    os.waitpid(worker.keeper, 0)
    return int.from_bytes(code, signed=True) if code else -signal.SIGKILL


def lost_in_a_fork() -> list[str]:
    """Returns the names of this process's threads, besides its main one, that a forked process would miss.

    jemalloc, which Arrow's libraries bring along, does without its thread there.
    """
    threads = _PROCESSES / "self" / "task"
    others = [one for one in threads.iterdir() if one.name != str(os.getpid())]
    names = []
    for one in others:
        with suppress(OSError):  # it has ended
            names.append((one / "comm").read_text(encoding="utf-8", errors="replace").strip())
    return sorted(name for name in names if name != _JEMALLOC)


def adopt_orphans() -> None:
    """Makes this process the parent of every process below it whose own parent ends."""
    ctypes.CDLL(None).prctl(_CHILD_SUBREAPER, 1)


def end_children(kept: Container[int] = ()) -> None:
    """Kills all child processes but those in `kept`, and those that become children when these end."""
    deadline = time.monotonic() + _END_S
    while (children := [one for one in _children() if one not in kept]) and time.monotonic() < deadline:
        for child in children:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(child, signal.SIGKILL)
        time.sleep(_PAUSE_S)
        for child in children:
            with suppress(ChildProcessError):
                os.waitpid(child, os.WNOHANG)


def _children() -> list[int]:
    """Returns the child processes of this one, also those that have ended and were not waited for."""
    own, found = str(os.getpid()).encode(), []
    for entry in _PROCESSES.iterdir():
        if entry.name.isdecimal():
            with suppress(OSError):
                # "number (name) state parent …", where a name may contain anything.
                if (entry / "stat").read_bytes().rpartition(b")")[2].split()[1] == own:
                    found.append(int(entry.name))
    return found


def _keep(work: Callable[[], int], closed: Iterable[int], writing: int, parent: int) -> NoReturn:
    """Waits until the worker ends, or SIGTERM arrives, which the system sends too when the parent ends."""
    try:
        awaited = (signal.SIGTERM, signal.SIGCHLD)
        signal.pthread_sigmask(signal.SIG_BLOCK, awaited)
        adopt_orphans()
        _die_with(parent, signal.SIGTERM)
        keeper = os.getpid()
        worker = os.fork()
        if not worker:
            code = 1
            try:
                os.setsid()
                _die_with(keeper, signal.SIGKILL)
                signal.pthread_sigmask(signal.SIG_UNBLOCK, awaited)
                os.close(writing)
                code = work()
            finally:
                os._exit(code)
        for descriptor in closed:
            os.close(descriptor)
        os.write(writing, worker.to_bytes(_NUMBER_BYTES))
        code = _awaited(worker, awaited)
        end_children()
        os.write(writing, code.to_bytes(_NUMBER_BYTES, signed=True))
    finally:
        os._exit(0)


def _awaited(worker: int, signals: Iterable[int]) -> int:
    """Returns the exit code of the worker; kills it when SIGTERM arrives."""
    while True:
        if signal.sigwait(signals) == signal.SIGTERM:
            os.kill(worker, signal.SIGKILL)
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            if ended[0] == worker:
                return os.waitstatus_to_exitcode(ended[1])


def _die_with(parent: int, number: int) -> None:
    """Makes the system send this process a signal when its parent ends, even if this process is stopped."""
    ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, number)
    if os.getppid() != parent:
        os._exit(1)
