"""The random generators that ranks draw from: the global ones, and those that the script seeds.

In a recorded run a rank writes every seed that the script gives, with its line. In a run with other seeds it moves
those of its own, so that what depends on them changes.
"""

import os
from collections.abc import Collection
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Final, final

import numpy as np
import torch
from xxhash import xxh3_128, xxh3_128_intdigest

from simstrategy.trace import describe_site
from simstrategy_torch_distributed.generators import APART, GLOBAL
from simstrategy_torch_distributed.seeding import NO_SEED, seeding_site, watch_global, watch_objects
from simstrategy_torch_distributed.watched.entries import append

__all__ = ["Reseeding", "Seedings"]

_UNSEEDED: Final = "{}, which no line seeds"
_FIRST_MAX: Final = 1000
"""So many seeds of a line are known each."""


@dataclass(slots=True)
class _Seeds:
    """The seeds of one line, of any number.

    digest: in their order. first: one for each of the first ones. total: in any order, so that ranks' totals add.
    """

    digest: xxh3_128 = field(default_factory=xxh3_128)
    first: list[int] = field(default_factory=list)
    total: int = 0
    count: int = 0

    def add(self, seed: str) -> None:
        self.digest.update(f"{len(seed)} {seed}".encode())
        one = xxh3_128_intdigest(seed.encode())
        if self.count < _FIRST_MAX:
            self.first.append(one)
        self.total += one
        self.count += 1

    def facts(self) -> dict[str, str | int | list[int]]:
        return {"digest": self.digest.hexdigest(), "first": self.first, "total": self.total, "count": self.count}


@final
class Seedings:
    """Writes which seeds the script gives in this rank, when it ends.  file: for the entries."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._process = os.getpid()
        self._unseeded: dict[str, int] = {}
        """The global generators that the script has not seeded yet, and their states in the beginning."""
        self._lines: dict[str, _Seeds] = {}

    def begin(self) -> None:
        self._unseeded = {name: one.state() for name, one in GLOBAL.items()}
        watch_global(self._seeded_global)
        watch_objects(self._seeded)

    def end(self) -> None:
        """Writes what each line has seeded with."""
        for source, seeds in self._lines.items():
            append(self._file, "seeds", {"source": source, **seeds.facts()}, [])

    def stepping(self) -> None:
        """Notes, before the first step, from which global generators the script has drawn without a seed."""
        for name, state in self._unseeded.items():
            if GLOBAL[name].state() != state:
                self._note(_UNSEEDED.format(GLOBAL[name].label), str(state))

    def _seeded_global(self, what: str, seed: Any, frame: FrameType) -> Any:
        if seed is not NO_SEED:
            self._unseeded.pop(what.rpartition(".")[0], None)
        return self._seeded(what, seed, frame)

    def _seeded(self, what: str, seed: Any, frame: FrameType) -> Any:
        source = None if seed is NO_SEED else _source(what, frame, self._process)
        if source is not None:
            self._note(source, _text_of(seed))
        return seed

    def _note(self, source: str, seed: str) -> None:
        self._lines.setdefault(source, _Seeds()).add(seed)


@final
class Reseeding:
    """Gives a rank other seeds.  by: how far they move, 1 in rank 0. sources: labels of GLOBAL, lines of `Seedings`.

    Global generators get theirs when DistributedDataParallel wraps a model and when the script first calls a module, as
    it may seed between the two: what a rank draws from then on is no part of the model as it begins. Seeds that the
    script gives are moved where it gives them, and generators that it does not seed when it begins; not in rank 0,
    whose model the others may receive.
    """

    def __init__(self, by: int, sources: Collection[str]) -> None:
        self._by = by
        self._sources = sources
        self._process = os.getpid()
        self._global = [one for one in GLOBAL.values() if one.label in sources]

    def begin(self) -> None:
        if self._by > 1:
            for one in GLOBAL.values():
                if _UNSEEDED.format(one.label) in self._sources:
                    one.move(self._by)
            watch_global(self._seeded)
            watch_objects(self._seeded)

    def move(self) -> None:
        """Moves the global generators."""
        for one in self._global:
            one.move(self._by)

    def _seeded(self, what: str, seed: Any, frame: FrameType) -> Any:
        return _moved(seed, APART * self._by) if _source(what, frame, self._process) in self._sources else seed


def _source(what: str, frame: FrameType, process: int) -> str | None:
    """Returns what a report names; None where the script does not seed it in the rank's own process."""
    site = seeding_site(frame) if os.getpid() == process else None
    return None if site is None else f"{what} at {describe_site(site)}"


def _text_of(seed: Any) -> str:
    """Returns a text that is equal for equal seeds."""
    if isinstance(seed, np.random.SeedSequence):
        return f"{seed.entropy} {seed.spawn_key}"
    if isinstance(seed, (np.ndarray, torch.Tensor)):
        return str(seed.tolist())
    known = (int, float, str, bytes, bytearray, tuple, list, np.generic)
    return repr(seed) if isinstance(seed, known) else type(seed).__name__


def _moved(seed: Any, by: int) -> Any:
    """Returns another seed of the same form; the same one where its form is unknown."""
    if isinstance(seed, (np.ndarray, np.generic, torch.Tensor)):
        seed = seed.tolist()
    if isinstance(seed, np.random.SeedSequence) and isinstance(seed.entropy, int):
        return np.random.SeedSequence(seed.entropy ^ by, spawn_key=seed.spawn_key, pool_size=seed.pool_size)
    if isinstance(seed, str):
        return f"{seed} {by}"
    if isinstance(seed, (list, tuple)) and seed:
        return [_moved(seed[0], by), *seed[1:]]
    if isinstance(seed, float):
        return seed + by
    return seed ^ by if isinstance(seed, int) else seed
