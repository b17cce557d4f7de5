"""What a recorded synchronisation point sends: its call, and how many bytes each device has."""

import math
from collections.abc import Iterable, Mapping
from typing import Final

import numpy as np

from simstrategy.sim.cost import Call
from simstrategy.trace import SyncPoint, Value

__all__ = ["call_of", "size_of"]

_CALLS: Final[Mapping[str, Call]] = {
    "all_reduce": "all_reduce",
    "reduce": "reduce",
    "broadcast": "broadcast",
    "broadcast_to": "broadcast",
    "all_gather": "all_gather",
    "gather": "all_gather",
    "sizes": "all_gather",
    "reduce_scatter": "reduce_scatter",
}
"""By a point's kind."""
_WRITES: Final = ("assign", "assign_add", "assign_sub")
_WRITTEN: Final[Mapping[str | None, Call]] = {
    "SUM": "all_reduce",
    "MEAN": "all_reduce",
    "ONLY_FIRST_REPLICA": "broadcast",
}
"""Of a write of all replicas, by its aggregation."""


def call_of(point: SyncPoint) -> Call | None:
    """Returns the call of `Cost` that a point makes; None for one where replicas wait and nothing is sent."""
    return _WRITTEN.get(point.op) if point.kind in _WRITES else _CALLS.get(point.kind)


def size_of(point: SyncPoint) -> int:
    """Returns the bytes that the replica with the most brings; of a sum along an axis, those of its result."""
    rows = point.outputs if point.kind == "reduce" and point.axis is not None and point.outputs else point.inputs
    return max((_bytes(row) for row in rows), default=0)


def _bytes(row: Iterable[Value]) -> int:
    return sum(math.prod(size or 0 for size in value.shape) * _item_size(value.dtype) for value in row)


def _item_size(dtype: str) -> int:
    try:
        return 2 if dtype == "bfloat16" else np.dtype(dtype).itemsize
    except TypeError:
        return 0  # a text, or a dtype of a framework alone
