"""The collectives of one group of devices, compiled by XLA.  It knows ranks and arrays, nothing of backends.

SUM is XLA's own all-reduce, in its order of additions. MIN and MAX of floats fold in rank order, and NaN wins
as with NumPy: XLA's all-reduce may drop a NaN, and has none for complex numbers.
"""

import functools
from collections.abc import Sequence
from typing import Any, Final, final

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from simstrategy.device import Array, Op
from simstrategy_xla.namespace import committed, require_values

__all__ = ["RANKS", "Collectives", "joined", "total"]

RANKS: Final = "ranks"
_SPREAD, _SAME = PartitionSpec(RANKS), PartitionSpec()  # type: ignore[no-untyped-call]
_OWN: Final[dict[Op, Any]] = {"SUM": jax.lax.psum, "MIN": jax.lax.pmin, "MAX": jax.lax.pmax}
_FOLDS: Final[dict[Op, Any]] = {"MIN": jnp.minimum, "MAX": jnp.maximum}


def total(x: Array, op: Op) -> Array:
    """Returns the total of every rank's array, inside a program over the ranks."""
    if op == "SUM" or jnp.issubdtype(x.dtype, jnp.integer):
        return _OWN[op](x, RANKS)
    parts = jax.lax.all_gather(x, RANKS)
    return functools.reduce(lambda a, b: jnp.where(a != a, a, jnp.where(b != b, b, _FOLDS[op](a, b))), parts)


def _scalar_total(x: Array, op: Op) -> Array:
    return total(x[0], op)


def joined(x: Array, axis: int, sizes: tuple[int, ...]) -> Array:
    """Returns every rank's array end to end along an axis; `sizes` are theirs before they were padded."""
    parts = jax.lax.all_gather(x, RANKS)
    own = [jax.lax.slice_in_dim(parts[rank], 0, size, axis=axis) for rank, size in enumerate(sizes)]
    return jnp.concatenate(own, axis)


@final
class Collectives:
    """What the devices do together: one program for each kind of call, compiled once for each form of array."""

    __slots__ = ("_mesh", "_program", "_sharding", "_waits")

    def __init__(self, devices: Sequence[jax.Device]) -> None:
        self._mesh = Mesh(np.array(devices), (RANKS,))
        self._sharding = NamedSharding(self._mesh, _SPREAD)
        # Two collectives at once can starve each other of XLA's CPU threads, and XLA then ends the process.
        self._waits = devices[0].platform == "cpu"
        self._program = functools.cache(self._compiled)

    def total(self, arrays: tuple[Array, ...], op: Op) -> tuple[Array, ...]:
        """Returns the total of equal-shaped arrays, one per rank, on each rank's device."""
        if arrays[0].shape:
            return self._run(total, arrays, op)
        return self._run(_scalar_total, tuple([jnp.reshape(committed(array), 1) for array in arrays]), op)

    def joined(self, arrays: tuple[Array, ...], axis: int, sizes: tuple[int, ...]) -> tuple[Array, ...]:
        """Returns the arrays, one per rank, concatenated along `axis`, on each rank's device."""

        def padded(array: Array) -> Array:
            missing = max(sizes) - array.shape[axis]
            return jnp.pad(array, [(0, missing * (one == axis)) for one in range(array.ndim)]) if missing else array

        return self._run(joined, tuple([padded(committed(array)) for array in arrays]), axis, sizes)

    def _run(self, body: Any, arrays: tuple[Array, ...], *settings: Any) -> tuple[Array, ...]:
        require_values(arrays, "a collective")
        first, *rest = arrays[0].shape
        shape = (first * len(arrays), *rest)
        whole = jax.make_array_from_single_device_arrays(shape, self._sharding, list(arrays))
        result = self._program(body, *settings)(whole)
        if self._waits:
            result.block_until_ready()
        return tuple([shard.data for shard in result.addressable_shards])

    def _compiled(self, body: Any, *settings: Any) -> Any:
        def ranked(x: Array) -> Array:
            return body(x, *settings)

        # Unchecked: JAX does not see that every rank computes the same of what was gathered.
        return jax.jit(jax.shard_map(ranked, mesh=self._mesh, in_specs=_SPREAD, out_specs=_SAME, check_vma=False))
