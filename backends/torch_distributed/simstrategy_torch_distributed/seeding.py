"""What takes the seeds of random generators: functions and classes of torch, Python and NumPy, which have no hooks.

They are replaced in the process of a rank, and so in processes that it forks, each by one that passes the seed on.
"""

import functools
import random
import sys
from collections.abc import Callable, Iterable
from types import FrameType, ModuleType
from typing import Any, Final

import numpy as np
import torch

from simstrategy_torch_distributed.link import Site, site_of

__all__ = ["NO_SEED", "imported_before", "replace_global", "seeding_site", "watch_global", "watch_objects"]

_GLOBAL: Final = (
    ("torch.manual_seed", torch, "manual_seed"),
    ("torch.manual_seed", torch.random, "manual_seed"),
    ("random.seed", random, "seed"),
    ("numpy.random.seed", np.random, "seed"),
)
"""The name of a function, its module and its attribute there."""
_CLASSES: Final[tuple[tuple[str, Any, str], ...]] = (
    ("torch.Generator", torch, "manual_seed"),
    ("random.Random", random, "seed"),
    *((f"numpy.random.{name}", np.random, "__init__") for name in ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")),
    ("numpy.random.RandomState", np.random, "__init__"),
)
"""The name of a class, its module, and the method that takes a seed."""
_KEYWORDS: Final = ("seed", "a")
"""How the seed may be named."""
NO_SEED: Final = object()
"""In place of a seed that is not given."""

Seeded = Callable[[str, Any, FrameType], Any]
"""Takes the name of what is seeded, the seed and the frame of the call; returns the seed that is used."""


_holders: Final[list[ModuleType]] = []
_watching: Final[list[Seeded]] = []
"""What is called for each seed of a global generator, in this order."""


@functools.cache
def replace_global() -> None:
    """Replaces the functions that seed global generators, once, by such as call what watches them.

    What imports one of them by name has to be imported afterwards.
    """
    for name, module, attribute in _GLOBAL:
        vars(module)[attribute] = _calling(name, vars(module)[attribute], _seeded)


def watch_global(seeded: Seeded) -> None:
    """Has a function called for each seed of a global generator: the name of what is seeded, up to its last dot."""
    replace_global()
    _watching.insert(0, seeded)


def _seeded(what: str, seed: Any, frame: FrameType) -> Any:
    for seeded in _watching:
        seed = seeded(what, seed, frame)
    return seed


def imported_before(modules: Iterable[ModuleType]) -> None:
    """Notes modules of libraries that are imported before `watch_objects` replaces classes."""
    _holders.extend(modules)


def watch_objects(seeded: Seeded) -> None:
    """Has a function called for each seed of a generator object.

    Modules of `imported_before` that have one of the classes by name get what stands in its place.
    """
    originals = [np.random.default_rng]
    made: list[Any] = [_calling("numpy.random.default_rng", np.random.default_rng, seeded)]
    vars(np.random)["default_rng"] = made[0]
    for name, module, method in _CLASSES:
        attribute = name.rpartition(".")[2]
        originals.append(vars(module)[attribute])
        made.append(_like(name, vars(module)[attribute], method, seeded))
        vars(module)[attribute] = made[-1]
    places = {id(original): one for original, one in zip(originals, made, strict=True)}
    for held in map(vars, _holders):
        held |= {name: places[id(value)] for name, value in held.items() if id(value) in places}


def seeding_site(frame: FrameType) -> Site | None:
    """Returns the script's line that seeds; None where torch does, as in workers of a DataLoader, or none is known."""
    if str(frame.f_globals.get("__name__")).startswith("torch.utils.data"):
        return None
    site = site_of(frame)
    return site if site[0] else None


def _calling(what: str, original: Callable[..., Any], seeded: Seeded, *, bound: int = 0) -> Callable[..., Any]:
    """Returns a function that passes a seed on.  bound: how many arguments come before the seed."""

    @functools.wraps(original)
    def call(*args: Any, **given: Any) -> Any:
        frame = sys._getframe(1)
        named = next((name for name in _KEYWORDS if name in given), None)
        if len(args) > bound:
            args = (*args[:bound], seeded(what, args[bound], frame), *args[bound + 1 :])
        elif named is not None:
            given[named] = seeded(what, given[named], frame)
        else:
            seeded(what, NO_SEED, frame)
        return original(*args, **given)

    return call


def _like(what: str, original: Any, method: str, seeded: Seeded) -> Any:
    """Returns a class whose instances are the original's, and whose method passes a seed on."""
    made: Any = None

    class Like(type(original)):  # type: ignore[misc]  # a class that is known when it runs
        def __instancecheck__(cls, instance: object) -> bool:
            return isinstance(instance, original) if cls is made else type.__instancecheck__(cls, instance)

        def __subclasscheck__(cls, subclass: type) -> bool:
            return issubclass(subclass, original) if cls is made else type.__subclasscheck__(cls, subclass)

    replaced = _calling(what, getattr(original, method), seeded, bound=1)
    body = {method: replaced, "__module__": what.rpartition(".")[0], "__doc__": original.__doc__}
    made = Like(original.__name__, (original,), body)
    return made
