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

__all__ = ["Result", "result_of"]

Host = np.ndarray[Any, Any]

_ARRAYS: Final = (jax.Array,)


class Result(NamedTuple):
    """contents: with the first copy of each array. copies, unequal, by_device: as of `jobs.Found`."""

    contents: Contents
    copies: dict[str, int]
    unequal: dict[str, tuple[Host, ...]]
    by_device: frozenset[str]


def result_of(value: Any, devices: Sequence[jax.Device]) -> Result:
    """Takes a result apart.  devices: of the mesh, in its order.  Raises InvalidArgument for what cannot be read."""
    found: list[tuple[Host, ...]] = []
    rows: list[bool] = []

    def get(array: Any) -> Host:
        plain = jax.random.key_data(array) if jnp.issubdtype(array.dtype, jax.dtypes.prng_key) else array
        found.append(_copies(plain, devices))
        rows.append(_has_rows(plain, len(devices)))
        return found[-1][0]

    contents = contents_of(value, get, _ARRAYS, lambda one: one)
    paths: list[str] = []
    for path, leaf in contents.leaves:
        if len(paths) < len(found) and leaf is found[len(paths)][0]:
            paths.append(path)
    several = {path: one for path, one in zip(paths, found, strict=True) if len(one) > 1}
    unequal = {path: one for path, one in several.items() if not all(same_bits(one[0], other) for other in one[1:])}
    return Result(
        contents,
        {path: len(one) for path, one in several.items()},
        unequal,
        frozenset(path for path, one in zip(paths, rows, strict=True) if one),
    )


def _copies(array: Any, devices: Sequence[jax.Device]) -> tuple[Host, ...]:
    """Returns an array […] once for each copy that the devices have of it; once, where each has a part of its own."""
    places = {device: place for place, device in enumerate(devices)}
    shards = sorted(array.addressable_shards, key=lambda one: places.get(one.device, one.device.id + len(places)))
    groups: dict[str, list[Any]] = {}
    for shard in shards:
        groups.setdefault(str(shard.index), []).append(shard)
    count = min((len(group) for group in groups.values()), default=0)
    if len(groups) <= 1:
        return tuple([np.asarray(shard.data) for shard in shards]) or (np.asarray(array),)
    if count == 1:
        return (np.asarray(array),)
    found = []
    for number in range(count):
        whole = np.empty(array.shape, array.dtype)
        for group in groups.values():
            whole[group[number].index] = np.asarray(group[number].data)
        found.append(whole)
    return tuple(found)


def _has_rows(array: Any, devices: int) -> bool:
    """Returns whether an array has a row for each device, on that device."""
    if not array.ndim or array.shape[0] != devices:
        return False
    return devices == 1 or (
        len(array.sharding.device_set) == devices
        and all(shard.data.shape[0] == 1 for shard in array.addressable_shards)
    )
