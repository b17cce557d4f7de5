"""Global random generators: the state that a module keeps for the whole process, and how it is read and written.

No module is imported for that: what a program has not loaded, it has not drawn from. A backend names the generators of
its framework in `Capabilities.generators`. Who swaps them, and when, is in `run/isolation.py`.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

__all__ = ["GLOBAL_GENERATORS", "GlobalGenerator"]


class GlobalGenerator(NamedTuple):
    """The generators that one module keeps for the whole process.

    read and write get the module, once the program has loaded it.

    >>> import random
    >>> python = GLOBAL_GENERATORS[0]
    >>> state, first = python.read(random), random.random()
    >>> python.write(random, state)
    >>> random.random() == first
    True
    """

    module: str
    """The name of the module."""
    read: Callable[[Any], Any]
    """Returns the state: an object that never changes, equal to another one only if both give the same numbers."""
    write: Callable[[Any, Any], None]
    """Takes the module and a state that `read` returned, and makes the generators go on from there."""


def _frozen(state: Any) -> tuple[Hashable, ...]:
    """Returns a state of NumPy as nested tuples: mappings as pairs, arrays as their dtype, shape and bytes."""
    if isinstance(state, dict):
        return ("mapping", tuple([(key, _frozen(value)) for key, value in state.items()]))
    if isinstance(state, np.ndarray):
        return ("array", state.dtype.str, state.shape, state.tobytes())
    return ("value", state)


def _thawed(frozen: Sequence[Any]) -> Any:
    kind, *rest = frozen
    if kind == "mapping":
        return {key: _thawed(value) for key, value in rest[0]}
    if kind == "array":
        dtype, shape, data = rest
        return np.frombuffer(data, dtype).reshape(shape).copy()
    return rest[0]


def _read_torch(module: Any) -> tuple[bytes, ...]:
    # The states of GPUs cannot be read before CUDA has started, and starting it takes seconds.
    cuda = module.cuda
    on_gpus = cuda.get_rng_state_all() if cuda.is_initialized() else ()
    return tuple([one.numpy().tobytes() for one in (module.get_rng_state(), *on_gpus)])


def _write_torch(module: Any, state: Sequence[bytes]) -> None:
    cpu, *on_gpus = [module.frombuffer(bytearray(one), dtype=module.uint8) for one in state]
    module.set_rng_state(cpu)
    if on_gpus:
        module.cuda.set_rng_state_all(on_gpus)


GLOBAL_GENERATORS: Final = (
    GlobalGenerator("random", lambda module: module.getstate(), lambda module, state: module.setstate(state)),
    GlobalGenerator(
        "numpy.random",
        lambda module: _frozen(module.get_state(legacy=False)),
        lambda module, state: module.set_state(_thawed(state)),
    ),
    GlobalGenerator("torch", _read_torch, _write_torch),
)
"""Those that programs use on any backend.  JAX has none: its keys are values."""
