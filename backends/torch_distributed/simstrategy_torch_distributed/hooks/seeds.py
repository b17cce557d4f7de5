"""Which seeds a script gives to global generators, and where: in the rank itself, and in its DataLoaders' workers.

The functions that seed are replaced in the process of a rank, and so in processes that it forks: Python, NumPy and
torch have no hook there. Workers write to a file, since a rank alone has a connection.
"""

import functools
import json
import os
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, final

import numpy as np
import torch
from torch.utils.data import get_worker_info

from simstrategy.short_repr import short_repr
from simstrategy.trace import describe_site
from simstrategy_torch_distributed.link import site_of

__all__ = ["Seeds"]

_SEEDING: Final = (
    ("random", random, "seed"),
    ("numpy.random", np.random, "seed"),
    ("torch", torch, "manual_seed"),
    ("torch", torch.random, "manual_seed"),
)
"""The generator, and the module and name of the function that seeds it."""
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
        for generator, module, name in _SEEDING:
            vars(module)[name] = self._watched(generator, vars(module)[name])

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

    def _watched(self, generator: str, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def seed(*args: Any, **given: Any) -> Any:
            self._seeded(generator, args or tuple(given.values()))
            return original(*args, **given)

        return seed

    def _seeded(self, generator: str, given: tuple[Any, ...]) -> None:
        frame = sys._getframe(2)
        if str(frame.f_globals.get("__name__")).startswith("torch.utils.data"):
            return  # what torch itself gives to each worker
        site = site_of(frame)
        if not site[0]:
            return
        value = short_repr(given[0]) if given else "no number"
        if os.getpid() == self._process:
            self._last[generator] = f"seeded with {value} at {describe_site(site)}"
            return
        worker = get_worker_info()
        if worker is not None and self._lines < _LINES_MAX:
            self._lines += 1
            line = json.dumps([generator, worker.id, value, describe_site(site)])
            with self._file.open("a", encoding="utf-8") as stream:
                stream.write(f"{line}\n")
