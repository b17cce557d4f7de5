"""What ranks print: rank 0 to the command's output itself, the others to files for the report."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final, final

from simstrategy.launch.server import Worker

__all__ = ["Outputs"]

_KEPT: Final = 1 << 20
"""The last bytes of a rank's output that a report keeps."""


@final
class Outputs:
    """The output files of a run's ranks.  tee: lines are shown as they come, each with its rank."""

    __slots__ = ("_files", "_shown", "_tee")

    def __init__(self, workers: Mapping[int, Worker], *, tee: bool) -> None:
        self._files: dict[int, Path] = {rank: worker.output for rank, worker in workers.items()}
        self._shown = dict.fromkeys(workers, 0)
        self._tee = tee

    def copy(self) -> None:
        """Shows the lines that have been completed since the last call."""
        if not self._tee:
            return
        for rank, file in self._files.items():
            data = _read(file, self._shown[rank])
            end = data.rfind(b"\n") + 1
            self._shown[rank] += end
            for line in data[:end].decode(errors="replace").splitlines(keepends=True):
                sys.stdout.write(f"[rank{rank}]: {line}")
        sys.stdout.flush()

    def text(self, rank: int) -> str:
        """Returns the end of what a rank has printed; empty for one that printed to the command's output."""
        file = self._files[rank]
        size = file.stat().st_size if file.exists() else 0
        return _read(file, max(size - _KEPT, 0)).decode(errors="replace")


def _read(file: Path, start: int) -> bytes:
    if not file.exists():
        return b""
    with file.open("rb") as stream:
        stream.seek(start)
        return stream.read()
