"""The random generators that ranks draw from: the global ones, and those that the script seeds.

In a recorded run a rank writes every seed that the script gives, with its line. In a run with other seeds it moves
those of its own, so that what depends on them changes. Functions and classes are replaced for that, as torch, Python
and NumPy have no hook there.
"""

import os
import random
import sys
from collections.abc import Callable, Collection
from types import FrameType
from typing import Any, Final, final

import numpy as np
import torch

from simstrategy.trace import describe_site
from simstrategy_torch_distributed.generators import APART, GLOBAL, move, state_of, states
from simstrategy_torch_distributed.link import site_of
from simstrategy_torch_distributed.watched.entries import append

__all__ = ["Reseeding", "Seedings"]

_UNSEEDED: Final = "{}, which no line seeds"
_SEEDED_BY: Final = {"torch.random": "torch.manual_seed", "random": "random.seed", "numpy.random": "numpy.random.seed"}
_FUNCTIONS: Final = (
    ("torch.manual_seed", torch, "manual_seed"),
    ("torch.manual_seed", torch.random, "manual_seed"),
    ("random.seed", random, "seed"),
    ("numpy.random.seed", np.random, "seed"),
    ("numpy.random.default_rng", np.random, "default_rng"),
)
_CLASSES: Final[tuple[tuple[str, Any, str], ...]] = (
    ("torch.Generator", torch, "manual_seed"),
    ("random.Random", random, "seed"),
    *((f"numpy.random.{name}", np.random, "__init__") for name in ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")),
    ("numpy.random.RandomState", np.random, "__init__"),
)
"""Name, module, and the method that takes a seed."""
_KEPT: Final = 1000

Seeded = Callable[[str, Any, FrameType], Any]
"""Takes the name of what is seeded, the seed and the frame of the call; returns the seed that is used."""


@final
class Seedings:
    """Writes which seeds the script gives in this rank.  file: for the entries."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._begin: dict[str, int] = {}
        self._seeded_once: set[str] = set()
        self._entries = 0

    def begin(self) -> None:
        self._begin = states()
        _replace_all(self._seeded)

    def stepping(self) -> None:
        """Writes, before the first step, from which global generators the script has drawn without a seed."""
        for label, name in GLOBAL.items():
            if _SEEDED_BY[name] not in self._seeded_once and state_of(name) != self._begin[name]:
                self._write(_UNSEEDED.format(label), str(self._begin[name]))

    def _seeded(self, what: str, seed: Any, frame: FrameType) -> Any:
        self._seeded_once.add(what)
        source = _source(what, frame)
        if source is not None:
            self._write(source, _text_of(seed))
        return seed

    def _write(self, source: str, seed: str) -> None:
        self._entries += 1
        if self._entries <= _KEPT:
            append(self._file, "seed", {"source": source, "seed": seed}, [])


@final
class Reseeding:
    """Gives a rank other seeds.  by: how far they move, 1 in rank 0. sources: names of GLOBAL, and lines of `Seedings`.

    Global generators get theirs when DistributedDataParallel wraps a model and when the script first calls a module, as
    it may seed between the two: what a rank draws from then on is no part of the model as it begins. Seeds that the
    script gives are moved where it gives them, and generators that it does not seed when it begins; not in rank 0,
    whose model the others may receive.
    """

    def __init__(self, by: int, sources: Collection[str]) -> None:
        self._by = by
        self._sources = sources
        self._global = [name for label, name in GLOBAL.items() if label in sources]

    def begin(self) -> None:
        if self._by > 1:
            unseeded = [name for label, name in GLOBAL.items() if _UNSEEDED.format(label) in self._sources]
            move(unseeded, self._by)
            _replace_all(self._seeded)

    def move(self) -> None:
        """Moves the global generators."""
        move(self._global, self._by)

    def _seeded(self, what: str, seed: Any, frame: FrameType) -> Any:
        return _moved(seed, APART * self._by) if _source(what, frame) in self._sources else seed


def _source(what: str, frame: FrameType) -> str | None:
    """Returns what a report names; None where the script does not seed it: torch seeds the workers of a DataLoader."""
    if os.getpid() != _PROCESS or str(frame.f_globals.get("__name__")).startswith("torch.utils.data"):
        return None
    site = site_of(frame)
    return f"{what} at {describe_site(site)}" if site[0] else None


_PROCESS = 0
"""The process of the rank."""


def _replace_all(seeded: Seeded) -> None:
    """Replaces what takes seeds, for the rest of the process."""
    global _PROCESS  # noqa: PLW0603 - known when the rank begins, in a process that was forked
    _PROCESS = os.getpid()
    for name, module, attribute in _FUNCTIONS:
        vars(module)[attribute] = _calling(name, vars(module)[attribute], seeded)
    for name, module, method in _CLASSES:
        attribute = name.rpartition(".")[2]
        vars(module)[attribute] = _like(name, vars(module)[attribute], method, seeded)


def _calling(what: str, original: Callable[..., Any], seeded: Seeded, *, bound: int = 0) -> Callable[..., Any]:
    """Returns a function that passes a seed on.  bound: how many arguments come before the seed."""

    def call(*args: Any, **given: Any) -> Any:
        frame = sys._getframe(1)
        if len(args) > bound:
            args = (*args[:bound], seeded(what, args[bound], frame), *args[bound + 1 :])
        elif "seed" in given:
            given["seed"] = seeded(what, given["seed"], frame)
        return original(*args, **given)

    call.__name__, call.__doc__ = original.__name__, original.__doc__
    return call


def _like(what: str, original: Any, method: str, seeded: Seeded) -> Any:
    """Returns a class whose instances are the original's, and whose method passes a seed on."""
    made: Any = None

    class Like(type(original)):  # type: ignore[misc]  # a class that is known when it runs
        def __instancecheck__(cls, instance: object) -> bool:
            return isinstance(instance, original) if cls is made else type.__instancecheck__(cls, instance)

        def __subclasscheck__(cls, subclass: type) -> bool:
            return issubclass(subclass, original) if cls is made else type.__subclasscheck__(cls, subclass)

    replaced = _calling(what, vars(original).get(method) or getattr(original, method), seeded, bound=1)
    body = {method: replaced, "__module__": what.rpartition(".")[0], "__doc__": original.__doc__}
    made = Like(original.__name__, (original,), body)
    return made


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
