"""The global random generators of a rank: those of torch, Python and NumPy."""

import random
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import torch
from xxhash import xxh3_64_intdigest

__all__ = ["APART", "GLOBAL"]

APART: Final = 7919
"""How far the seeds of two ranks are apart that are moved."""
_seed_torch: Final = torch.manual_seed
_seed_python: Final = random.seed
_seed_numpy: Final = np.random.seed


class Global(NamedTuple):
    """A global generator.  label: how reports name it. state: returns a number that is equal for equal states.

    move: gives it another seed, which follows from its state and a number.
    """

    label: str
    state: Callable[[], int]
    move: Callable[[int], object]


def _state_of_torch() -> int:
    with torch._C._DisableFuncTorch():  # noqa: SLF001 - inside of vmap and its like a tensor has no elements else
        return int(xxh3_64_intdigest(torch.get_rng_state().numpy().tobytes()))


def _state_of_python() -> int:
    return xxh3_64_intdigest(np.asarray(random.getstate()[1], dtype=np.int64).tobytes())


def _state_of_numpy() -> int:
    found: Any = np.random.get_state(legacy=False)
    return xxh3_64_intdigest(found["state"]["key"].tobytes() + str(found["state"]["pos"]).encode())


GLOBAL: Final[Mapping[str, Global]] = {
    "torch": Global(
        "the global generator of torch", _state_of_torch, lambda by: _seed_torch(torch.initial_seed() + APART * by)
    ),
    "random": Global(
        "the global generator of Python", _state_of_python, lambda by: _seed_python(f"{random.getrandbits(64)} {by}")
    ),
    "numpy.random": Global(
        "the global generator of NumPy", _state_of_numpy, lambda by: _seed_numpy([np.random.randint(1 << 31), by])
    ),
}
"""By the name of the function that seeds it, without its last part."""
