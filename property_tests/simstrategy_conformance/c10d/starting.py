"""Starts the processes of a world's ranks, and ends them: three ways with one face.

Ranks are forked from a process that has imported torch once, or are threads of one such process, or are what a command
starts, which gives them torchrun's environment.
"""

import contextlib
import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from importlib import import_module
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any, Final, Protocol

from simstrategy_conformance.c10d.answers import PLACE, Place
from simstrategy_conformance.c10d.names import Named

__all__ = ["Started", "start"]

_RANK: Final = "simstrategy_conformance.c10d.ranks.rank"
_PRELOADED: Final = ("torch", "torch.distributed", "torch.profiler", _RANK)
_ENDING_S: Final = 5.0


class Started(Protocol):
    """The processes of one world."""

    def ended(self) -> dict[int, str]:
        """Returns how each of the processes that have ended did so, by its number."""

    def stop(self) -> None:
        """Ends what still runs, with all that it has started."""


def start(subject: Named, place: Place, output: Path) -> Started:
    """Starts the ranks of a world.  output: the file for what they print."""
    if subject.ranks == "command":
        return _Command(subject.command, place, output)
    if subject.ranks == "threads":
        return _Forked([(_RANK, "serve_threads", place)], output)
    return _Forked([(_RANK, "serve", place._replace(rank=rank)) for rank in range(place.ranks)], output)


class _Forked:
    """Processes that are forked from one that has imported torch, and that ends with this one."""

    def __init__(self, jobs: Sequence[tuple[str, str, Place]], output: Path) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(list(_PRELOADED))
        self._processes: list[ForkServerProcess] = []
        for job in jobs:
            process = context.Process(target=_run, args=(*job, str(output)), daemon=True)
            self._processes.append(process)
            process.start()

    def ended(self) -> dict[int, str]:
        found = {number: one.exitcode for number, one in enumerate(self._processes)}
        return {number: _worded(code) for number, code in found.items() if code is not None}

    def stop(self) -> None:
        for process in self._processes:
            if process.pid is not None:
                _kill(process.pid, process.kill)
            process.join()
            process.close()


def _run(module: str, function: str, place: Place, output: str) -> None:
    """Is a forked process: prints to a file, in a session of its own, and serves."""
    os.setsid()
    threading.Thread(target=_end_with_the_kit, args=(place.folder,), daemon=True).start()
    _print_to(output)
    serve: Callable[[Place], None] = vars(import_module(module))[function]
    serve(place)


def _end_with_the_kit(folder: str) -> None:
    """Waits until the kit's process has ended; then removes what it has left, and ends this session: it may hang."""
    kit = multiprocessing.parent_process()
    assert kit is not None, "the kit starts it"
    kit.join()
    shutil.rmtree(folder, ignore_errors=True)
    os.killpg(os.getpid(), signal.SIGKILL)


def _print_to(output: str) -> None:
    file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for stream in (1, 2):
        os.dup2(file, stream)
    os.close(file)


class _Command:
    """What a command starts: a launcher such as torchrun, with the ranks below it."""

    def __init__(self, command: Sequence[str], place: Place, output: Path) -> None:
        words = [word.format(ranks=place.ranks, python=sys.executable) for word in command]
        given = json.dumps(place._asdict() | {"launched": True, "key": place.key.hex()})
        self._words = words
        with output.open("ab") as printed:
            self._process = subprocess.Popen(
                [*words, "-m", _RANK],
                env={**os.environ, PLACE: given},
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=printed,
                start_new_session=True,
            )

    def ended(self) -> dict[int, str]:
        code = self._process.poll()
        return {} if code is None else {0: f"{self._words[0]} {_worded(code)}"}

    def stop(self) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_ENDING_S)  # its ranks end when the kit has closed their connections
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_ENDING_S)
        _kill(self._process.pid, self._process.kill)
        self._process.wait()


def _kill(number: int, alone: Callable[[], Any]) -> None:
    """Kills a process, and its session."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(number, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError):
        alone()


def _worded(code: int) -> str:
    """Returns an exit code in words.

    >>> _worded(-11), _worded(3)
    ('was killed by SIGSEGV', 'ended with exit code 3')
    """
    if code < 0:
        return f"was killed by {signal.Signals(-code).name}"
    return f"ended with exit code {code}"
