"""Runs a command for a limited time, and leaves none of its processes.

Linux only: processes are found in /proc by a mark in their environment, in whatever group or session they are.
"""

import contextlib
import os
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_MARK = "SIMSTRATEGY_CORPUS_RUN"


@dataclass(frozen=True, slots=True)
class Ran:
    """How a run ended.  code: None where it was ended at the limit.  text: what it printed, errors included."""

    code: int | None
    text: str
    seconds: float


def run_command(command: Sequence[str], limit: float, settings: Mapping[str, str] | None = None) -> Ran:
    """Runs a command in an empty folder, for `limit` seconds at most.

    settings: variables of its environment.  A command that does not exist raises `FileNotFoundError`.
    """
    mark, began = uuid.uuid4().hex, time.monotonic()
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as printed:
        always = {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1", _MARK: mark}
        process = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, **(settings or {}), **always},
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(limit)
            code, seconds = process.poll(), time.monotonic() - began
        finally:
            _end_all(mark)
            process.wait()
        return Ran(code, os.pread(printed.fileno(), 10**7, 0).decode("utf-8", "replace"), seconds)


def _end_all(mark: str) -> None:
    """Kills every process that has the mark, until there is none."""
    while True:
        left = list(_marked(mark))
        for process in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        if not left:
            return


def _marked(mark: str) -> Iterator[int]:
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and mark.encode() in (entry / "environ").read_bytes():
                yield int(entry.name)
