"""Which seeds a script gives to global generators, and where: in the rank itself, and in its DataLoaders' workers.

Workers write to a file, since a rank alone has a connection.
"""

import json
import os
from pathlib import Path
from types import FrameType
from typing import Any, Final, final

from torch.utils.data import get_worker_info

from simstrategy.short_repr import short_repr
from simstrategy.trace import describe_site
from simstrategy_torch_distributed.link import Site
from simstrategy_torch_distributed.seeding import NO_SEED, seeding_site, watch_global

__all__ = ["Seeds"]

_OF_WORKERS: Final = ".seeds"
_LINES_MAX: Final = 64
"""So many seeds of each worker are kept, the first ones."""


@final
class Seeds:
    """Watches one rank.  output: with which the name of the workers' file begins."""

    def __init__(self, output: Path) -> None:
        self._file = Path(f"{output}{_OF_WORKERS}")
        self._process = os.getpid()
        self._last: dict[str, str] = {}
        self._lines = 0
        watch_global(self._seeded)

    def last(self, generator: str) -> str:
        """Returns words on the last seed of a generator, with its line; empty where the script has given none."""
        return self._last.get(generator, "")

    def words(self) -> dict[str, str]:
        """Returns the words of `last` for all generators."""
        return dict(self._last)

    def of_workers(self) -> list[list[Any]]:
        """Returns what workers have been seeded with by the script: generator, worker, seed and line."""
        if not self._file.exists():
            return []
        return sorted(json.loads(line) for line in self._file.read_text(encoding="utf-8").splitlines())

    def _seeded(self, what: str, seed: Any, frame: FrameType) -> Any:
        site = seeding_site(frame)
        if site is not None:
            value = "no number" if seed is NO_SEED else short_repr(seed)
            self._note(what.rpartition(".")[0], value, site)
        return seed

    def _note(self, generator: str, value: str, site: Site) -> None:
        if os.getpid() == self._process:
            self._last[generator] = f"seeded with {value} at {describe_site(site)}"
            return
        worker = get_worker_info()
        if worker is not None and self._lines < _LINES_MAX:
            self._lines += 1
            line = json.dumps([generator, worker.id, value, describe_site(site)])
            with self._file.open("a", encoding="utf-8") as stream:
                stream.write(f"{line}\n")
