"""The global random generators of a rank: those of torch, Python and NumPy."""

import random
from collections.abc import Collection, Mapping
from typing import Any, Final

import numpy as np
import torch
from xxhash import xxh3_64_intdigest

__all__ = ["APART", "GLOBAL", "move", "state_of", "states"]

GLOBAL: Final[Mapping[str, str]] = {
    "the global generator of torch": "torch.random",
    "the global generator of Python": "random",
    "the global generator of NumPy": "numpy.random",
}
"""How reports name the global generators, and how `states` does."""
APART: Final = 7919
"""How far the seeds of two ranks are apart that are moved."""
_seed_torch: Final = torch.manual_seed
_seed_python: Final = random.seed
_seed_numpy: Final = np.random.seed


def state_of(generator: str) -> int:
    """Returns a number that is equal for equal states of a global generator, one of `GLOBAL`."""
    if generator == "torch.random":
        return int(xxh3_64_intdigest(torch.get_rng_state().numpy().tobytes()))
    if generator == "random":
        return xxh3_64_intdigest(np.asarray(random.getstate()[1], dtype=np.int64).tobytes())
    found: Any = np.random.get_state(legacy=False)
    return xxh3_64_intdigest(found["state"]["key"].tobytes() + str(found["state"]["pos"]).encode())


def states() -> dict[str, int]:
    """Returns the numbers of `state_of` of all global generators."""
    return {name: state_of(name) for name in GLOBAL.values()}


def move(names: Collection[str], by: int) -> None:
    """Gives global generators other seeds, which follow from their states.  names: as for `state_of`."""
    if "torch.random" in names:
        _seed_torch(torch.initial_seed() + APART * by)
    if "random" in names:
        _seed_python(f"{random.getrandbits(64)} {by}")
    if "numpy.random" in names:
        _seed_numpy([np.random.randint(1 << 31), by])
