"""Computes every synchronisation point of a recording again, from the file alone, and compares to the bit.

A sum is computed in the orders of additions of the simulator; a recording of another backend, which adds in an order of
its own, may differ from all of them. What a user's function computed is not computed again: the points inside it are.
"""

import math
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from simstrategy.device import Backend, open_backend
from simstrategy.errors import InvalidArgument
from simstrategy.sim import ORDERS
from simstrategy.sim.dtypes import dtype_named
from simstrategy.strategy.reductions.arithmetic import Reductions
from simstrategy.trace import Recording, SyncPoint, Value, VariableWrite, value_digest

__all__ = ["Recomputed", "recompute"]

Host = np.ndarray[Any, Any]

_LARGE: Final = "a value was too large to be kept whole"
_FUNCTION: Final = "the program's own function made the result; the points inside it are computed"
_FUNCTIONS: Final = ("run", "compiled", "merge_call", "update", "update_non_slot")
_WRITES: Final = ("assign", "assign_add", "assign_sub")


class Recomputed(NamedTuple):
    """What came of it.

    order: of additions, with which all sums are as recorded, or the first one that was tried. equal: how many points
    have outputs that are equal to the bit. different: a line for each one that has not. left: for each reason, how many
    points could not be computed.
    """

    order: str
    equal: int
    different: tuple[str, ...]
    left: dict[str, int]


class _Left(Exception):
    """Why a point cannot be computed again."""


def recompute(recording: Recording) -> Recomputed:
    """Computes the outputs of all points again.

    Where the header states no order of additions, it is the first of the simulator's with which all are equal.
    """
    stated = recording.header.get("order")
    orders = tuple(ORDERS)
    tried = [_recomputed(recording, order) for order in ([stated] if stated in orders else orders)]
    return next((one for one in tried if not one.different), tried[0])


def _recomputed(recording: Recording, order: str) -> Recomputed:
    computing = _Computing(recording, order)
    equal, different, left = 0, [], dict[str, int]()
    for points in recording.together():
        try:
            computed = computing.outputs(points)
        except _Left as reason:
            left[str(reason)] = left.get(str(reason), 0) + len(points)
            continue
        for point, rows in zip(points, computed, strict=True):
            difference = _difference(point, rows)
            if difference is None:
                equal += 1
            else:
                different.append(f"point {point.number}, {point.kind} at {point.sites[0]}: {difference}")
    return Recomputed(order, equal, tuple(different), left)


class _Computing:
    """Computes the points of one recording on the simulator.  order: of additions."""

    def __init__(self, recording: Recording, order: str) -> None:
        self._workers = len({point.worker for point in recording.points})
        self._writes: dict[int | None, VariableWrite] = {one.point: one for one in recording.writes}
        self._order = order
        self._backends: dict[int, Backend] = {}

    def _backend(self, replicas: int) -> Backend:
        """Returns the simulator with so many devices."""
        if replicas not in self._backends:
            self._backends[replicas] = open_backend("sim", replicas=replicas, order=self._order)
        return self._backends[replicas]

    def outputs(self, points: list[SyncPoint]) -> list[list[list[Host]]]:
        """Returns for each worker's point, for each replica, what it gets.  Raises _Left."""
        first = points[0]
        if not all(point.ended for point in points):
            raise _Left("the recording stops before its end")
        if any(point.error is not None for point in points):
            raise _Left("it raised an exception")
        if first.kind in _FUNCTIONS:
            raise _Left(_FUNCTION)
        if not any(point.outputs for point in points):
            raise _Left("it has no result that is an array")
        if len(points) != self._workers:
            raise _Left("another worker did not record the same point")
        rows = [[_whole(value) for value in row] for point in points for row in point.inputs]
        if first.kind in _WRITES and first.kind in {write.operation for write in self._of(points)}:
            return [self._written(point, rows) for point in points]
        results = self._results(first, rows)
        return [[results for _ in point.inputs] for point in points]

    def _of(self, points: Sequence[SyncPoint]) -> list[VariableWrite]:
        return [self._writes[point.number] for point in points if point.number in self._writes]

    def _results(self, point: SyncPoint, rows: list[list[Host]]) -> list[Host]:
        """Returns what every replica gets.  rows: of all replicas of all workers."""
        columns = list(zip(*rows, strict=True))
        if point.kind == "variable":
            return rows[0]
        if point.kind == "all_reduce":
            return [self._reduced(point.op, column) for column in columns]
        if point.kind in ("all_gather", "gather") and point.axis is not None:
            return [np.concatenate(column, axis=point.axis) for column in columns]
        if point.kind == "reduce":
            return [self._reduced_along(point, column) for column in columns]
        if point.kind == "sizes":
            return [row[0] for row in rows]
        raise _Left(f"{point.kind} is none of the calls that are computed here")

    def _reduced(self, op: str | None, column: Sequence[Host]) -> Host:
        backend = self._backend(len(column))
        return backend.get(Reductions(backend).all_reduce(op, self._put(backend, column))[0])

    def _reduced_along(self, point: SyncPoint, column: Sequence[Host]) -> Host:
        axis = _axis_of(point)
        if axis is None:
            return self._reduced(point.op, column)
        backend = self._backend(len(column))
        reductions, axes = Reductions(backend), axis if isinstance(axis, tuple) else (axis,)
        arrays = self._put(backend, column)
        parts = tuple([backend.xp.sum(one, axis=axes) if axes else one for one in arrays])
        total = reductions.total(parts)
        count = sum(math.prod(one.shape[place] for place in axes) for one in column)
        return backend.get(reductions.divide(total, count) if point.op == "MEAN" else total)

    @staticmethod
    def _put(backend: Backend, column: Sequence[Host]) -> tuple[Any, ...]:
        return tuple([backend.put(one, device) for one, device in zip(column, backend.local_devices, strict=True)])

    def _applied(self, kind: str, old: Host, new: Host) -> Host:
        """Returns a component after a write."""
        if kind == "assign":
            return new
        backend = self._backend(1)
        one, other = (backend.put(host, backend.local_devices[0]) for host in (old, new))
        return backend.get(backend.xp.add(one, other) if kind == "assign_add" else backend.xp.subtract(one, other))

    def _written(self, point: SyncPoint, rows: list[list[Host]]) -> list[list[Host]]:
        """Returns the components after a write, from those before it and what the replicas brought."""
        write = self._writes[point.number]
        before = [_whole(value) for value in write.before]
        given = [row[0] for row in rows]
        alike = all(_same(one, given[0]) for one in given)
        if point.replicas == (None,):
            here = [_whole(row[0]) for row in point.inputs]
        elif point.op in ("SUM", "MEAN") and not (alike and self._took_one(point, given[0], write)):
            here = [self._reduced(point.op, given)] * len(before)
        else:
            here = [given[0]] * len(before)
        after = [self._applied(point.kind, old, new) for old, new in zip(before, here, strict=False)]
        return [[after[min(index, len(after) - 1)]] for index in range(len(point.inputs))]

    def _took_one(self, point: SyncPoint, given: Host, write: VariableWrite) -> bool:
        """Returns whether equal values were taken as one: MEAN of one object is the object, and SUM refuses it."""
        if point.op == "SUM":
            return False
        return _same(self._applied(point.kind, _whole(write.before[0]), given), _whole(write.after[0]))


def _axis_of(point: SyncPoint) -> int | tuple[int, ...] | None:
    """Returns the axis of a reduce: several stand in its subject, as text."""
    if point.axis is not None or point.subject is None or not point.subject.startswith("("):
        return point.axis
    numbers = point.subject.strip("()").replace(",", " ").split()
    if not all(one.lstrip("-").isdigit() for one in numbers):
        return None
    return tuple(map(int, numbers))


def _whole(value: Value) -> Host:
    if value.array is None:
        raise _Left(_LARGE if value.digest else "an array had no value")
    if value.dtype == "text":
        raise _Left("texts are not computed here")
    if value.dtype != "bfloat16":
        return value.array
    try:
        return value.array.astype(dtype_named("bfloat16"))
    except InvalidArgument as error:
        raise _Left(str(error)) from error


def _same(one: Host, other: Host) -> bool:
    return one.shape == other.shape and one.dtype == other.dtype and one.tobytes() == other.tobytes()


def _difference(point: SyncPoint, rows: list[list[Host]]) -> str | None:
    for replica, (row, recorded) in enumerate(zip(rows, point.outputs, strict=False)):
        for leaf, (one, value) in enumerate(zip(row, recorded, strict=False)):
            if value.array is None:
                if value.digest != value_digest(one):
                    return f"leaf {leaf} of local replica {replica} has another digest"
            elif not _same(one, _whole(value)):
                return f"leaf {leaf} of local replica {replica} is {_whole(value)!r} and is computed as {one!r}"
    if [len(row) for row in rows] != [len(row) for row in point.outputs]:
        return f"{[len(row) for row in point.outputs]} values are recorded, and {[len(row) for row in rows]} computed"
    return None
