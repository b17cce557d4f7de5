"""Takes the result of a JAX program apart: arrays on the host, and where devices have copies of one value.

JAX does not compare the copies of an array that is replicated: here each one is read.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from simstrategy.check.contents import Contents, contents_of
from simstrategy.check.distances import same_bits
from simstrategy_xla.mesh_check.jobs import Shard, Spread
from simstrategy_xla.mesh_check.shards import copies_of

__all__ = ["Result", "result_of"]

Host = np.ndarray[Any, Any]

_ARRAYS: Final = (jax.Array,)


class Result(NamedTuple):
    """contents: with the first copy of each array. copies, unequal, by_device, spread: as of `jobs.Found`."""

    contents: Contents
    copies: dict[str, int]
    unequal: dict[str, tuple[Host, ...]]
    by_device: frozenset[str]
    spread: dict[str, Spread]

    @classmethod
    def none(cls) -> "Result":
        """Returns what a run without a result gives."""
        return cls(Contents.none(), {}, {}, frozenset(), {})


class _Taken(NamedTuple):
    """One array of a result.  copies: as the devices have it. rows: whether it has a row for each device."""

    copies: tuple[Host, ...]
    rows: bool
    spread: Spread | None


def result_of(value: Any, devices: Sequence[jax.Device]) -> Result:
    """Takes a result apart.  devices: of the mesh, in its order.  Raises InvalidArgument for what cannot be read."""
    found: list[_Taken] = []

    def get(array: Any) -> Host:
        plain = jax.random.key_data(array) if jnp.issubdtype(array.dtype, jax.dtypes.prng_key) else array
        found.append(_taken(plain, devices))
        return found[-1].copies[0]

    contents = contents_of(value, get, _ARRAYS, lambda one: one)
    named: dict[str, _Taken] = {}
    for path, leaf in contents.leaves:
        if len(named) < len(found) and leaf is found[len(named)].copies[0]:
            named[path] = found[len(named)]
    several = {path: one.copies for path, one in named.items() if len(one.copies) > 1}
    return Result(
        contents,
        {path: len(one) for path, one in several.items()},
        {path: one for path, one in several.items() if not all(same_bits(one[0], other) for other in one[1:])},
        frozenset(path for path, one in named.items() if one.rows),
        {path: one.spread for path, one in named.items() if one.spread is not None},
    )


def _taken(array: Any, devices: Sequence[jax.Device]) -> _Taken:
    places = {device: place for place, device in enumerate(devices)}
    shards = tuple(
        [
            Shard(places.get(one.device, one.device.id + len(places)), one.index, np.asarray(one.data))
            for one in array.addressable_shards
        ]
    )
    spread = Spread(array.shape, np.dtype(array.dtype), shards)
    if not array.is_fully_addressable:
        return _Taken((np.empty(0, spread.dtype),), rows=False, spread=spread)
    return _Taken(copies_of(spread) or (np.asarray(array),), _has_rows(array, len(devices)), None)


def _has_rows(array: Any, devices: int) -> bool:
    """Returns whether an array has a row for each device, on that device."""
    if not array.ndim or array.shape[0] != devices:
        return False
    return devices == 1 or (
        len(array.sharding.device_set) == devices
        and all(shard.data.shape[0] == 1 for shard in array.addressable_shards)
    )
