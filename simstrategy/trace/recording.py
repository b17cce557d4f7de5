"""A recording: all that happened in a run, in one order over all workers, with the values.

A `Recorder` makes it while a program runs; `read` makes it of a file. Both take it from the same lines.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from simstrategy.trace.values import Value

__all__ = ["Printed", "Recording", "Result", "StepParts", "SyncPoint", "VariableWrite"]

Row = tuple[Value, ...]
"""The leaf values of one replica, in the order of its nest."""

Form = tuple[tuple[int | None, ...], str]
"""Shape and dtype."""


class SyncPoint(NamedTuple):
    """One synchronisation point: a collective, a merge call, a write or read of all replicas, or a whole `run`.

    number: its place in the one order of all workers. step: the number of the worker's `run`, from 1; 0 before the
    first. kind, op, axis, subject: as in `Event`. replicas: the ranks in the order of their arrival; None for a call
    outside replica functions. sites: one for each of replicas.

    inputs, outputs: one tuple of leaf values for each local replica, in rank order: what it brought, and what it got.
    Of a write, outputs are the components after it. () where there are no arrays, and where the point was not reached
    by all. requests: what each replica was doing, in rank order, where they did not all make this request; else ().
    inputs are then those of replicas, in rank order.
    error: class and text of the exception that ended it; None where it has none. ended: False where the recording
    stops inside it. until: the place in the order that comes next after its end; what this worker did at the places
    before it, it did inside of this point. None where it has no end.
    """

    number: int
    worker: int
    step: int
    kind: str
    op: str | None
    axis: int | None
    subject: str | None
    replicas: tuple[int | None, ...]
    sites: tuple[str, ...]
    inputs: tuple[Row, ...]
    outputs: tuple[Row, ...]
    requests: tuple[str, ...]
    error: tuple[str, str] | None
    ended: bool
    until: int | None = None


class StepParts(NamedTuple):
    """One step that a worker drew from a distributed dataset.

    rows: for each local replica the number of its first row in what this worker drew in this epoch, and how many rows
    it has. digests: for each local replica a text for each of its rows, equal for equal rows; fewer where there are
    more rows than a recorder digests. site: file and line that distributed the dataset; "" where it is not known.
    """

    number: int
    worker: int
    step: int
    epoch: int
    rows: tuple[tuple[int, int], ...]
    digests: tuple[tuple[str, ...], ...]
    site: str = ""


class VariableWrite(NamedTuple):
    """One write to a variable, also its first value (operation `create`).

    replica: the rank that wrote its component alone; None for a write to all components of this worker. before, after:
    the components that were written, in rank order; one, where the replicas share it. point: the number of the
    synchronisation point that wrote; None for a write outside of one.
    """

    number: int
    worker: int
    step: int
    replica: int | None
    variable: str
    operation: str
    before: tuple[Value, ...]
    after: tuple[Value, ...]
    site: str
    point: int | None


class Printed(NamedTuple):
    """What was printed between two other lines; replica: the rank, None outside replica functions."""

    number: int
    worker: int
    replica: int | None
    text: str


class Result(NamedTuple):
    """How the program of one worker ended: path and value of each result, or class and text of its exception."""

    worker: int
    leaves: tuple[tuple[str, Value], ...]
    error: tuple[str, str] | None


class Recording(NamedTuple):
    """All that a recorder kept.  header: facts on the run, by name.  draws: of the schedule, for `schedules.Replayed`.

    complete: whether the recording has its end; False for a run that was killed, or one that still runs.
    """

    header: Mapping[str, Any]
    points: tuple[SyncPoint, ...]
    parts: tuple[StepParts, ...]
    writes: tuple[VariableWrite, ...]
    draws: tuple[tuple[str, int, int], ...]
    prints: tuple[Printed, ...]
    results: tuple[Result, ...]
    complete: bool

    def at(self, worker: int, step: int) -> Iterator[SyncPoint]:
        """Yields the synchronisation points of one step of one worker, in order."""
        return (point for point in self.points if (point.worker, point.step) == (worker, step))

    def together(self) -> Iterator[list[SyncPoint]]:
        """Yields the points of all workers that made one group-call: the first of each, the second, and so on.

        A point stands alone where another worker made another call at its place, or none.
        """
        workers = sorted({point.worker for point in self.points})
        lists = [[point for point in self.points if point.worker == worker] for worker in workers]
        for number in range(max(map(len, lists), default=0)):
            group = [one[number] for one in lists if number < len(one)]
            alike = all((one.kind, one.op, one.axis, one.subject) == group[0][3:7] for one in group)
            if alike and len(group) == len(lists):
                yield group
            else:
                yield from ([point] for point in group)
