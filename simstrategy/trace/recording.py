"""A recording: all that happened in a run, in one order over all workers, with the values.

A `Recorder` makes it while a program runs; `read` makes it of a file. Both take it from the same lines.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from simstrategy.trace.values import Value

__all__ = [
    "HOLDS",
    "OPTIMIZER_STEP",
    "STEP_CHANGES",
    "EventAt",
    "Printed",
    "Recording",
    "Result",
    "StepParts",
    "SyncPoint",
    "VariableWrite",
]

HOLDS: Final = "holds"
"""The operation of a `VariableWrite` that is no write: it states what a name of the program holds after a line."""
STEP_CHANGES: Final = "change"
"""The operation of a `VariableWrite` that is no single write: all that a step changed in a variable."""
OPTIMIZER_STEP: Final = "optimizer_step"
"""The kind of a `SyncPoint` that is a step of an optimizer of another library, which its replicas need not make
together: it brings gradients and gives parameters."""


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
    """How the program of one worker ended: path and value of each result, or class and text of its exception.

    site: file and line that raised the exception; "" where it is not known, or none was raised.
    """

    worker: int
    leaves: tuple[tuple[str, Value], ...]
    error: tuple[str, str] | None
    site: str = ""


class EventAt(NamedTuple):
    """Names an event by what is known of it without the recording.

    site: file and line, as in ``train.py:31``. step: the number of the `run`; None where any may be meant. variable,
    replica, turn: of a write to this variable, or of what this name holds, the turn-th one there that is of this
    replica, from 0; None, 0 and 0 for any event.
    """

    site: str
    step: int | None = None
    variable: str | None = None
    replica: int = 0
    turn: int = 0


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

    def number_at(self, event: EventAt) -> int | None:
        """Returns the place in the order of an event; of one that is not there, of the first at its line, else None."""

        def is_there(site: str) -> bool:
            return site == event.site or site.endswith(f"/{event.site}")

        writes = [one for one in self.writes if one.variable == event.variable and is_there(one.site)]
        own = [one for one in writes if one.replica in (None, event.replica)]
        if event.turn < len(own):
            return own[event.turn].number
        found = [(write.number, write.step) for write in self.writes if is_there(write.site)]
        found += [(parts.number, parts.step) for parts in self.parts if is_there(parts.site)]
        found += [(point.number, point.step) for point in self.points if any(map(is_there, point.sites))]
        found.sort()
        return next((number for number, step in found if step == event.step), found[0][0] if found else None)

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
