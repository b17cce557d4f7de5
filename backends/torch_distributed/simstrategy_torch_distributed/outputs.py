"""What ranks print: rank 0 to the command's output itself, the others to files for the report."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final, TextIO, final

from simstrategy.launch.server import Worker

__all__ = ["ERRORS", "Outputs", "print_to", "remove_files"]

ERRORS: Final = ".err"
"""What the name of a rank's file for errors ends with, where they are shown apart from its output."""
_KEPT: Final = 1 << 20
"""The last bytes of a file that a report keeps."""


@final
class Outputs:
    """The output files of a run's ranks.  tee: lines are shown as they come, each with its rank, errors as errors."""

    __slots__ = ("_files", "_shown", "_tee")

    def __init__(self, workers: Mapping[int, Worker], *, tee: bool) -> None:
        self._files = {rank: (worker.output, Path(f"{worker.output}{ERRORS}")) for rank, worker in workers.items()}
        self._shown: dict[Path, int] = {}
        self._tee = tee

    def copy(self, *, ended: bool = False) -> None:
        """Shows the lines that have been completed since the last call.  ended: also a last one without its end."""
        if self._tee:
            for rank, files in self._files.items():
                for file, stream in zip(files, (sys.stdout, sys.stderr), strict=True):
                    self._copy(file, stream, rank, ended=ended)

    def text(self, rank: int) -> str:
        """Returns the end of what a rank has printed; empty for one that printed to the command's output."""
        texts = []
        for file in self._files[rank]:
            size = file.stat().st_size if file.exists() else 0
            texts.append(_read(file, max(size - _KEPT, 0)).decode(errors="replace"))
        return "".join(texts)

    def _copy(self, file: Path, stream: TextIO, rank: int, *, ended: bool) -> None:
        data = _read(file, self._shown.get(file, 0))
        end = len(data) if ended else data.rfind(b"\n") + 1
        self._shown[file] = self._shown.get(file, 0) + end
        text = data[:end].decode(errors="replace")
        for line in text.removesuffix("\n").split("\n") if text else ():
            stream.write(f"[rank{rank}]: {line}\n")
        stream.flush()


def _read(file: Path, start: int) -> bytes:
    if not file.exists():
        return b""
    with file.open("rb") as stream:
        stream.seek(start)
        return stream.read()


def remove_files(output: Path) -> None:
    """Removes the files of a process.  output: the begin of their names."""
    for file in output.parent.glob(f"{output.name}*"):
        file.unlink(missing_ok=True)


def print_to(output: Path, errors: Path) -> None:
    """Lets this process, and what it starts, print to files from now on."""
    for stream, target in ((1, output), (2, errors)):
        file = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(file, stream)
        os.close(file)
