"""Bugs planted in the tensorflow backend and right above it: each breaks one thing, while its side runs and no longer.

The first half is what a backend's author gets wrong, the second what is computed over the backend. Nothing in the
repository is changed: methods are replaced for the time of one program. Clauses are named for whoever reads the table.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import tensorflow as tf

from simstrategy.data import parts as splitting
from simstrategy.strategy import replica, validation
from simstrategy.strategy.reductions import leaf
from simstrategy.strategy.reductions.arithmetic import Reductions
from simstrategy.strategy.running import Runner
from simstrategy_tensorflow.backend import TensorFlowBackend, TensorFlowCell
from simstrategy_tensorflow.namespace import TensorFlowNamespace

__all__ = ["BUGS", "Bug"]


class Bug(NamedTuple):
    """Where to put what: `wrong` gets the right function and what it is called with."""

    clause: str
    place: Any
    name: str
    wrong: Any

    @contextmanager
    def planted(self) -> Iterator[None]:
        """Has the bug for as long as the context lasts."""
        right, wrong = getattr(self.place, self.name), self.wrong
        with mock.patch.object(self.place, self.name, lambda *given, **named: wrong(right, *given, **named)):
            yield


# In the backend.


def _no_last(right, backend, arrays, *, axis, sizes):
    return right(backend, arrays[:-1] or arrays, axis=axis, sizes=sizes[:-1] or sizes)


def _reversed(right, backend, arrays, *, axis, sizes):
    return right(backend, arrays[::-1], axis=axis, sizes=sizes[::-1])


def _saturating(right, backend, arrays, op):
    if arrays[0].dtype != tf.uint8 or op != "SUM":
        return right(backend, arrays, op)
    wide = [tf.cast(one, tf.int32) for one in arrays]
    total = tf.cast(tf.minimum(sum(wide[1:], wide[0]), 255), tf.uint8)
    return right(backend, (total, *(tf.zeros_like(total) for _ in arrays[1:])), op)


def _first_alone(right, backend, arrays, op):
    found = right(backend, arrays, op)
    return (*found[:-1], arrays[-1]) if len(found) > 1 and arrays[0].dtype == tf.float16 else found


_late: dict[Any, Any] = {}


def _stale(right, cell, value):
    # Each write comes to pass with the next one, and what is read before is old.
    if cell.native.ref() in _late:
        right(cell, _late[cell.native.ref()])
    _late[cell.native.ref()] = value


_cells: list[Any] = []


def _aliased(right, backend, initial):
    # What was made just before of the same value, on another device, is taken for the same.
    made = right(backend, initial)
    if _cells and _cells[0].native.shape == initial.shape and _cells[0].native.dtype == initial.dtype:
        made = _cells[0]
    _cells[:] = [made]
    return made


def _adding(right, xp, one, other):
    return xp.add(one, other)


def _double(right, cell, value):
    right(cell, value)
    if cell.native.dtype == tf.float64 and cell.native.shape.rank == 1:
        right(cell, tf.cast(tf.cast(value, tf.float32) * 1.0625, tf.float64))


# Above the backend.


def _sum_for_mean(right, reductions, total, count):
    return right(reductions, total, 1)


def _int_mean(right, reductions, total, count):
    mean = right(reductions, total, count)
    return tf.cast(mean, total.dtype) if total.dtype.is_integer else mean


def _full_batch(right, engine, arrays, axis, site):
    summed, counts = right(engine, arrays, axis, site)
    return summed, [max(counts)] * len(counts) if counts else counts


def _empty_counts(right, engine, arrays, axis, site):
    summed, counts = right(engine, arrays, axis, site)
    return summed, [max(one, 1) for one in counts]


def _last_axis(right, axis, shape, call):
    return right(-1 if isinstance(axis, int) and axis < -1 else axis, shape, call)


def _next_replica(right, group):
    resolve = right(group)

    def wrong(request, calls, sizes):
        found = resolve(request, calls, sizes)
        return [*found[1:], found[0]]

    return wrong


def _no_memory(right, runner, *given):
    runner.group.seeds.forget()
    return right(runner, *given)


def _even_chunks(right, size, count):
    bounds = [size * number // count for number in range(count + 1)]
    return list(pairwise(bounds))


def _nan_for_nothing(right, xp, array, *, axis=None, **named):
    return right(xp, array, axis=axis, **named) if np.prod(array.shape) else right(xp, array, axis=axis, **named) - 1


BUGS = {
    "a gather drops the last replica": Bug("B-12", TensorFlowBackend, "all_gather", _no_last),
    "a gather is in reverse order": Bug("B-12", TensorFlowBackend, "all_gather", _reversed),
    "sums of uint8 stop at 255": Bug("B-8", TensorFlowBackend, "all_reduce", _saturating),
    "the last replica keeps its own float16": Bug("B-8", TensorFlowBackend, "all_reduce", _first_alone),
    "a read after a write is stale": Bug("V-1", TensorFlowCell, "write", _stale),
    "components of a variable are one cell": Bug("V-1", TensorFlowBackend, "cell", _aliased),
    "subtracting adds": Bug("V-1", TensorFlowNamespace, "subtract", _adding),
    "vectors of float64 are written by way of float32": Bug("V-1", TensorFlowCell, "write", _double),
    "a sum of nothing is not zero": Bug("R-3", TensorFlowNamespace, "sum", _nan_for_nothing),
    "a sum for a mean": Bug("R-1", Reductions, "divide", _sum_for_mean),
    "the mean of integers is an integer": Bug("R-2", Reductions, "divide", _int_mean),
    "a partial batch counts as a full one": Bug("R-4", leaf, "_sum_parts", _full_batch),
    "an empty part counts as one element": Bug("R-4", leaf, "_sum_parts", _empty_counts),
    "axes before the last are taken for the last": Bug("R-3", validation, "axis_in", _last_axis),
    "merged results go to the next replica": Bug("C-9", replica, "resolve_merge", _next_replica),
    "a run forgets which seeds were drawn": Bug("S-4", Runner, "run", _no_memory),
    "batches are cut evenly": Bug("D-1", splitting, "per_batch_chunks", _even_chunks),
}
"""The bugs by what they do."""
