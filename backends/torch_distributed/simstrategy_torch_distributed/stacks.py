"""Ranks that neither wait nor end: their stacks are shown, a limit ends them, and that a signal has stopped them."""

import os
import re
import signal
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, final

from simstrategy import launch
from simstrategy.launch.server import Worker
from simstrategy.run.frames import is_users_file
from simstrategy.trace import describe_site
from simstrategy_torch_distributed.matching import Matcher

__all__ = ["Stacks", "place_in", "stacks_of"]

_SIGNAL: Final = signal.SIGRTMAX
_WRITTEN_S: Final = 0.2
_BELOW: Final = f'  File "{Path(__file__).parent}/program.py"'
"""How the line of a stack begins that calls the user's program."""
_OWN: Final = (f"{Path(__file__).parent}/", f"{Path(launch.__file__).parent}/")
"""The folders of the code that exchanges a rank's messages."""
_FILE: Final = re.compile(r'^  File "(.*)", line', re.MULTILINE)
_RENDEZVOUS: Final = "/torch/distributed/rendezvous.py"
"""The file in which torch waits for the store that init_process_group names."""
_ELSEWHERE: Final = (
    "simstrategy: rank {rank} waits for the store that its init_process_group names. If init_method names another one "
    "than this run's, leave it out: the environment has the address.\n"
)
_STOPPED_S: Final = 2.0
"""How long others wait for a rank that a signal has stopped: somebody may continue it."""


@final
class Stacks:
    """Looks for such ranks, and shows each once in each silence."""

    __slots__ = ("_after_s", "_limit_s", "_looked_s", "_shown", "_since", "_workers")

    def __init__(self, workers: Mapping[int, Worker], after_s: float, limit_s: float | None) -> None:
        self._workers = workers
        self._after_s = after_s
        self._limit_s = limit_s
        self._since: dict[int, float] = {}
        """For each rank that runs: since when it has been silent."""
        self._shown: dict[int, float] = {}
        """The silences that were shown: by rank, when each began."""
        self._looked_s: dict[int, float] = {}
        """For each rank that has not joined a group: when it was looked at whether it waits for a store."""

    def look(self, matcher: Matcher, now_s: float) -> None:
        """Shows the ranks that others have waited for since `after_s` seconds; ends the run after the limit."""
        if matcher.finding is not None:
            return  # every rank has been shown, or ends in moments
        busy = matcher.busy
        there = [rank for rank in matcher.running if rank in self._workers]  # others have not joined their group yet
        self._since = {rank: max(self._since.get(rank, now_s), matcher.moved_of_s(rank)) for rank in there}
        for rank, since in self._since.items():
            silent_s = now_s - since
            if rank in busy and silent_s > _STOPPED_S and _is_stopped(self._workers[rank].process):
                matcher.stop(rank)
                return
            if self._limit_s is not None and silent_s > self._limit_s:
                matcher.exceed(rank, self._limit_s, place_in(self._show(rank, self._limit_s, "")))
                return
            if rank in busy and silent_s > self._after_s and self._shown.get(rank) != since:
                self._shown[rank] = since
                self._show(rank, self._after_s, " while others wait for it")
            elif silent_s > self._after_s and not matcher.has_joined(rank) and self._shown.get(rank) != since:
                self._look_for_store(rank, since, now_s)

    def _look_for_store(self, rank: int, since: float, now_s: float) -> None:
        """Shows a rank that has not joined a group if it waits for a store: others may wait there too, and no call."""
        if now_s - self._looked_s.get(rank, since) < self._after_s:
            return
        self._looked_s[rank] = now_s
        found = stacks_of(self._workers[rank])
        if _RENDEZVOUS in found:
            self._shown[rank] = since
            self._show(rank, self._after_s, "", found)

    def _show(self, rank: int, seconds: float, why: str, stacks: str | None = None) -> str:
        """Shows the stacks of a rank, and returns them.  stacks: None to look for them."""
        found = stacks_of(self._workers[rank]) if stacks is None else stacks
        sys.stderr.write(
            f"simstrategy: rank {rank} has neither called nor ended for {seconds:g} s{why}. It is at:\n{found}"
        )
        if _RENDEZVOUS in found:
            sys.stderr.write(_ELSEWHERE.format(rank=rank))
        sys.stderr.flush()
        return found


def stacks_of(worker: Worker) -> str:
    """Returns the stacks of a rank's threads, as Python's faulthandler writes them; empty if it writes none.

    The first one is that of the program, from its newest line on.
    """
    file = Path(f"{worker.output}.stacks")
    before = file.stat().st_size if file.exists() else 0
    with suppress(ProcessLookupError):
        os.kill(worker.process, _SIGNAL)
    time.sleep(_WRITTEN_S)
    written = file.read_bytes()[before:].decode(errors="replace") if file.exists() else ""
    threads = [thread.partition(_BELOW) for thread in written.removesuffix("\n").split("\n\n")]
    # The thread of the program comes first, without the lines that have started it.
    threads.sort(key=lambda thread: not thread[1])
    return "".join(f"{stack.rstrip()}\n" for stack, _, _ in threads if not _is_own(stack))


def _is_own(stack: str) -> bool:
    """Returns whether a stack is that of a thread with which this package serves a rank: nothing else runs in it."""
    files = [file for file in _FILE.findall(stack) if file != threading.__file__]
    return bool(files) and all(file.startswith(_OWN) for file in files)


def place_in(stacks: str) -> str:
    r"""Returns the newest line of the user's in a text of `stacks_of`, as in " at train.py:8"; empty if there is none.

    >>> place_in('Current thread 0x1 (most recent call first):\n  File "/home/user/train.py", line 8 in <module>\n')
    ' at train.py:8'
    """
    program = re.split(r"^(?:Current thread|Thread) ", stacks, flags=re.MULTILINE)[1:2]
    for file, line in re.findall(r'^  File "(.*)", line (\d+)', "".join(program), re.MULTILINE):
        if is_users_file(file):
            return f" at {describe_site((file, int(line)))}"
    return ""


def _is_stopped(process: int) -> bool:
    """Returns whether a signal such as SIGSTOP has stopped a process; not so for one that a debugger looks at."""
    try:
        text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] == "T"
