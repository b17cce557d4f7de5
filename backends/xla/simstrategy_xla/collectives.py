"""The collectives of one group of ranks, compiled by XLA, over ranks and arrays; no backend.

SUM is XLA's own all-reduce, in its order of additions. MIN and MAX of floats fold in rank order, and NaN wins
as with NumPy: XLA's all-reduce may drop a NaN, and has none for complex numbers.
"""

import functools
from typing import Any, Final, final

import jax
import jax.numpy as jnp

from simstrategy.device import Op
from simstrategy_xla.namespace import committed, require_values
from simstrategy_xla.process_group import ProcessGroup
from simstrategy_xla.ranks import RANKS, Form, Ranks

__all__ = ["Collectives", "chosen", "joined", "total"]

_OWN: Final[dict[Op, Any]] = {"SUM": jax.lax.psum, "MIN": jax.lax.pmin, "MAX": jax.lax.pmax}
_FOLDS: Final[dict[Op, Any]] = {"MIN": jnp.minimum, "MAX": jnp.maximum}


def total(x: jax.Array, op: Op) -> jax.Array:
    """Returns the total [...] of every rank's array [...], inside a program over the ranks."""
    if op == "SUM" or jnp.issubdtype(x.dtype, jnp.integer):
        own: jax.Array = _OWN[op](x, RANKS)
        return own
    parts = jax.lax.all_gather(x, RANKS)
    folded: jax.Array = functools.reduce(
        lambda a, b: jnp.where(a != a, a, jnp.where(b != b, b, _FOLDS[op](a, b))), parts
    )
    return folded


def joined(x: jax.Array, axis: int, sizes: tuple[int, ...]) -> jax.Array:
    """Returns every rank's array [..., size, ...] end to end along an axis; `sizes` are theirs without padding."""
    parts = jax.lax.all_gather(x, RANKS)
    own = [jax.lax.slice_in_dim(parts[rank], 0, size, axis=axis) for rank, size in enumerate(sizes)]
    return jnp.concatenate(own, axis)


def chosen(x: jax.Array, root: int) -> jax.Array:
    """Returns rank `root`'s array [...], of every rank's arrays [...]."""
    one: jax.Array = jax.lax.all_gather(x, RANKS)[root]
    return one


@final
class Collectives:
    """One compiled program for each kind of call and form of array.

    processes: where the ranks are in several processes, what limits the time of a call.
    """

    __slots__ = ("_processes", "_program", "_ranks")

    def __init__(self, ranks: Ranks, processes: ProcessGroup | None = None) -> None:
        self._ranks = ranks
        self._processes = processes
        self._program = functools.cache(self._compiled)

    def total(self, arrays: tuple[jax.Array, ...], op: Op) -> tuple[jax.Array, ...]:
        """Returns the total [...] of arrays [...], one per rank, on each rank's device."""
        return self._run(total, arrays, op)

    def joined(self, arrays: tuple[jax.Array, ...], axis: int, sizes: tuple[int, ...]) -> tuple[jax.Array, ...]:
        """Returns the arrays [..., size, ...], one per rank, concatenated along `axis`, on each rank's device."""

        def padded(array: jax.Array) -> jax.Array:
            missing = max(sizes) - array.shape[axis]
            return jnp.pad(array, [(0, missing * (one == axis)) for one in range(array.ndim)]) if missing else array

        return self._run(joined, tuple([padded(committed(array)) for array in arrays]), axis, sizes)

    def chosen(self, arrays: tuple[jax.Array, ...], root: int) -> tuple[jax.Array, ...]:
        """Returns rank `root`'s array [...] on each rank's device."""
        return self._run(chosen, arrays, root)

    def _run(self, body: Any, arrays: tuple[jax.Array, ...], *settings: Any) -> tuple[jax.Array, ...]:
        require_values(arrays, "a collective")
        call = self._program(body, (arrays[0].shape, arrays[0].dtype), *settings)
        return self._ranks.run(call, [arrays])[0]

    def _compiled(self, body: Any, form: Form, *settings: Any) -> Any:
        jitted = self._ranks.jitted(lambda x: (body(x, *settings),), [form])
        return jitted if self._processes is None else self._processes.compiled(jitted, self._ranks.structs([form]))
