"""A spawned process as `multiprocessing` uses it: what its class Popen is for processes of its own."""

import os
import signal
import weakref
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing import connection
from typing import final

from simstrategy_torch_distributed.inherited import Inherited

__all__ = ["SpawnedProcess"]


@final
class SpawnedProcess:
    """One process.  Names and what they do are those of multiprocessing's Popen."""

    method = "spawn"
    DupFd = Inherited

    def __init__(self) -> None:
        self.files: list[int] = []
        """Those that the process is to have, in the order of their positions."""
        self.pid = 0
        self.sentinel = -1
        """Readable when the process has ended."""
        self.returncode: int | None = None
        self._ended = -1
        self._finalize: weakref.finalize[..., SpawnedProcess] | None = None

    def duplicate_for_child(self, file: int) -> int:
        """Notes a file descriptor; returns its position."""
        self.files.append(file)
        return len(self.files) - 1

    def began(self, pid: int) -> int:
        """Notes the process's number; returns a file for it that is readable when this process has ended."""
        self.pid = pid
        self.sentinel, self._ended = os.pipe()
        alive, held = os.pipe()
        self._finalize = weakref.finalize(self, _close, [self.sentinel, held])
        return alive

    def ended(self, code: int) -> None:
        """Notes how the process has ended; whoever waits for it goes on."""
        self.returncode = code
        os.close(self._ended)

    def poll(self, _flag: int = 0) -> int | None:
        return self.returncode

    def wait(self, timeout: float | None = None) -> int | None:
        if self.returncode is None:
            connection.wait([self.sentinel], timeout)
        return self.returncode

    def terminate(self) -> None:
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        self._signal(signal.SIGKILL)

    def interrupt(self) -> None:
        self._signal(signal.SIGINT)

    def close(self) -> None:
        if self._finalize is not None:
            self._finalize()

    def _signal(self, number: int) -> None:
        if self.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)


def _close(files: Sequence[int]) -> None:
    for file in files:
        os.close(file)
