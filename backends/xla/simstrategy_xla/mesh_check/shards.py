"""Puts the parts of an array together that devices have, as often as they have copies of it.  Without JAX."""

from typing import Any

import numpy as np

from simstrategy_xla.mesh_check.jobs import Shard, Spread

__all__ = ["copies_of"]


def copies_of(spread: Spread) -> tuple[np.ndarray[Any, Any], ...]:
    """Returns an array […] once for each copy that the devices have of all its parts; () where a part is missing."""
    groups: dict[str, list[Shard]] = {}
    for shard in sorted(spread.shards, key=lambda one: one.device):
        groups.setdefault(str(shard.part), []).append(shard)
    known = sum(group[0].data.size for group in groups.values())
    if not groups or known < np.prod(spread.shape, dtype=np.int64):
        return ()
    found = []
    for number in range(min(map(len, groups.values()))):
        whole = np.empty(spread.shape, spread.dtype)
        for group in groups.values():
            whole[group[number].part] = group[number].data
        found.append(whole)
    return tuple(found)
