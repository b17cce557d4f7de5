"""Talks to the process that evaluates modules, and starts it where there is none."""

import itertools
import os
import pickle
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, BinaryIO, Final, final

import numpy as np

from simstrategy.errors import Unsupported
from simstrategy_xla.reference.module import Text

__all__ = ["Interpreter", "ranks_max"]

Host = np.ndarray[Any, Any]

_FATAL: Final = "LLVM ERROR: "
_LATE: Final = "timed out"
_TRIES: Final = 3
"""How often a module is tried whose ranks have waited too long for each other, as on a machine with other work."""
_COMMAND: Final = (sys.executable, "-P", "-m", "simstrategy_xla.reference.evaluator")


def ranks_max() -> int:
    """Returns how many ranks the interpreter runs here: one on each processor, since each waits for the others."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


@final
class Interpreter:
    """A process that evaluates modules.  It is started for the first one, and again where one has ended it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._printed: BinaryIO | None = None
        self._known: set[int] = set()
        """The numbers of the modules that the process has."""
        self._numbers = itertools.count()
        self._end: Any = None

    def number(self) -> int:
        """Returns a number for a new module."""
        return next(self._numbers)

    def evaluate(self, number: int, module: Text, arrays: Sequence[Host]) -> list[Host]:
        """Returns the outputs of all ranks, rank 0's first, given their inputs in the same order.

        arrays: [the shapes of the module's inputs], of each rank. Raises Unsupported where the interpreter ends.
        """
        ranks = len(arrays) // max(1, len(module.inputs))
        tensors = [one.carried for one in module.inputs] * ranks
        causes: list[str] = []
        while len(causes) < _TRIES:
            process = self._started()
            assert process.stdin is not None
            assert process.stdout is not None
            text = None if number in self._known else module.text
            try:
                pickle.dump((number, text, tensors, list(arrays)), process.stdin, protocol=pickle.HIGHEST_PROTOCOL)
                process.stdin.flush()
                found: list[Host] = pickle.load(process.stdout)  # noqa: S301 - of the process that was started here
            except (EOFError, BrokenPipeError, pickle.UnpicklingError):
                causes.append(self._ended())
                if _LATE not in causes[-1]:
                    break
            else:
                self._known.add(number)
                return found
        raise Unsupported(
            f"StableHLO's interpreter cannot run this compiled step: {causes[-1]}. Open the backend without "
            f"interpreted=True to run it as XLA compiles it."
        )

    def close(self) -> None:
        """Ends the process."""
        if self._end is not None:
            self._end()
        self._process, self._end = None, None
        self._known.clear()

    def _started(self) -> "subprocess.Popen[bytes]":
        if self._process is None:
            self._printed = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
            environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
            self._process = subprocess.Popen(
                _COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._printed, env=environment
            )
            self._end = weakref.finalize(self, _ended_now, self._process, self._printed)
        return self._process

    def _ended(self) -> str:
        """Returns why the process has ended, by what it printed."""
        process, printed = self._process, self._printed
        assert process is not None
        assert printed is not None
        code = process.wait()
        printed.seek(0)
        lines = printed.read().decode(errors="replace").strip().splitlines()
        fatal = [line.removeprefix(_FATAL) for line in lines if line.startswith(_FATAL)]
        self.close()
        return (fatal or lines[-1:] or [f"exit code {code}"])[0]


def _ended_now(process: "subprocess.Popen[bytes]", printed: BinaryIO) -> None:
    process.kill()
    process.wait()
    for file in (process.stdin, process.stdout, printed):
        with suppress(OSError):  # what is left for a process that has ended
            if file is not None:
                file.close()
