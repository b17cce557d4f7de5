"""The virtual time of a recorded run: what each replica does when, by declared costs.

Made of a recording when the run is over, so it changes no value, no error and no order. Every replica has a time of its
own: it computes until it comes to a synchronisation point, waits there for the last one, and goes on when the call has
ended. What the program does outside of replica functions begins when all replicas of its worker have returned.
"""

import heapq
from collections.abc import Mapping, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias, final

from simstrategy.errors import InvalidType
from simstrategy.short_repr import short_repr
from simstrategy.sim.collectives import ORDERS
from simstrategy.sim.cost import Call, Cost
from simstrategy.sim.sent import call_of, size_of
from simstrategy.trace import Recording, StepParts, SyncPoint

__all__ = ["NETWORK", "PointTimes", "Span", "Timeline", "timeline"]

Does: TypeAlias = Literal["compute", "wait", "communicate"]

NETWORK: Final = -1
"""In place of a rank: what runs beside the computing of all replicas."""
_RUNS: Final = ("run", "compiled")
_IN_BACKGROUND: Final = ("all_reduce", "reduce_scatter", "assign", "assign_add", "assign_sub")
"""Kinds that overlap with computing where the cost states that."""


class Span(NamedTuple):
    """What a replica does for a while.  rank: of it, or `NETWORK`. point: the number of that it comes to, or is at."""

    rank: int
    does: Does
    begin_s: float
    end_s: float
    point: int


class PointTimes(NamedTuple):
    """The times of one synchronisation point.

    arrived_s: by rank. begin_s: when the last one arrived, and what was sent before was through. end_s: when the call
    ended. call: of `Cost`, or None. devices, size: of its formula. together: the numbers of the points of all workers.
    """

    arrived_s: Mapping[int, float]
    begin_s: float
    end_s: float
    call: Call | None
    devices: int
    size: int
    together: tuple[int, ...]


class Timeline(NamedTuple):
    """The virtual time of a run.

    cost, algorithm: with which it was computed. spans: of all replicas, by their begin. points: the times of
    synchronisation points, by their numbers. end_s: when the last replica ended.
    """

    cost: Cost
    algorithm: str
    spans: tuple[Span, ...]
    points: Mapping[int, PointTimes]
    end_s: float


def timeline(recording: Recording, cost: Cost) -> Timeline:
    """Returns the virtual time of a recorded run.  Raises InvalidType for anything but a recording and a cost.

    Points without recorded shapes have no size, and cost their messages alone. Clauses: M-19 to M-22.

    >>> import simstrategy as ss
    >>> recorder = ss.trace.Recorder()
    >>> strategy = ss.Strategy.mirrored("sim", replicas=2, trace=recorder)
    >>> _ = strategy.run(lambda: ss.get_replica_context().all_reduce("SUM", 1.0))
    >>> found = timeline(recorder.recording(), Cost(compute_s=1.0, slow={1: 3.0}))
    >>> [(span.rank, span.does, span.begin_s, span.end_s) for span in found.spans]
    [(0, 'compute', 0.0, 1.0), (1, 'compute', 0.0, 3.0), (0, 'wait', 1.0, 3.0)]
    """
    given: tuple[object, object] = (recording, cost)
    if not isinstance(given[0], Recording) or not isinstance(given[1], Cost):
        wrong = cost if isinstance(given[0], Recording) else recording
        raise InvalidType(
            f"timeline takes a recording and a Cost, got {short_repr(wrong)}. Pass recorder.recording(), or "
            f"ss.trace.read(FILE), and ss.sim.Cost(...)."
        )
    stated = recording.header.get("order")
    algorithm = cost.algorithm or (stated if stated in ORDERS else next(iter(ORDERS)))
    times = _Times(recording, cost, algorithm)
    events: list[SyncPoint | StepParts] = sorted([*recording.points, *recording.parts], key=lambda one: one.number)
    for event in events:
        times.take(event)
    times.finish()
    spans = sorted(times.spans, key=lambda one: (one.begin_s, one.rank, one.end_s))
    return Timeline(cost, algorithm, tuple(spans), times.points, times.end_s)


@final
class _Times:
    """The times of all replicas while the events of a recording are taken in their order."""

    def __init__(self, recording: Recording, cost: Cost, algorithm: str) -> None:
        self.spans: list[Span] = []
        self.points: dict[int, PointTimes] = {}
        self.end_s = 0.0
        self._cost = cost
        self._algorithm = algorithm
        # A trace without values has the calls of replicas outside of their runs.
        self._has_runs = recording.header.get("version") != 1
        self._ready: dict[int, float] = {}
        """When each replica goes on."""
        self._program: dict[int, float] = {}
        """When the program of each worker goes on, outside of replica functions."""
        self._ranks: dict[int, set[int]] = {}
        """The replicas of each worker."""
        self._rows: dict[int, int] = {}
        """Rows that a replica received and has not computed with."""
        self._idle: set[int] = set()
        """Replicas that came to no point in this run yet."""
        self._open: list[tuple[int, int, SyncPoint]] = []
        self._network_s = 0.0
        """When what is sent beside the computing is through; for each replica when its own is."""
        self._sent: dict[int, float] = {}
        self._together: dict[int, tuple[SyncPoint, ...]] = {}
        self._arrived: dict[int, dict[int, float]] = {}
        """The arrivals at points of several workers whose last one has not begun, by the first one's number."""
        for points in recording.together():
            for point in points:
                self._together[point.number] = tuple(points)
                ranks = {rank for rank in point.replicas if rank is not None}
                self._ranks.setdefault(point.worker, set()).update(ranks)
        self._name_ranks(recording)

    def _name_ranks(self, recording: Recording) -> None:
        """Adds the replicas that came to no point: by the header, or by how many values a worker brings."""
        replicas, workers = recording.header.get("replicas"), recording.header.get("workers")
        if isinstance(replicas, int) and isinstance(workers, int) and 0 < workers <= replicas <= 1 << 16:
            each = replicas // workers
            self._ranks = {one: set(range(one * each, one * each + each)) for one in range(workers)}

    def take(self, event: SyncPoint | StepParts) -> None:
        """Takes the next event in the order of the recording."""
        while self._open and self._open[0][0] <= event.number:
            self._end(heapq.heappop(self._open)[2])
        if isinstance(event, StepParts):
            for rank, (_, count) in zip(sorted(self._ranks.get(event.worker, ())), event.rows, strict=False):
                self._rows[rank] = self._rows.get(rank, 0) + count
        elif event.kind in _RUNS:
            self._begin_run(event)
        else:
            self._arrive(event)

    def finish(self) -> None:
        """Ends what is open when the recording ends."""
        while self._open:
            self._end(heapq.heappop(self._open)[2])
        self.end_s = max([0.0, *self._ready.values(), *self._program.values(), *self._sent.values()])

    def _begin_run(self, point: SyncPoint) -> None:
        if not self._has_runs:
            return
        ranks = self._ranks.get(point.worker, set())
        for rank in ranks:
            self._ready[rank] = self._program.get(point.worker, 0.0)
        self._idle |= ranks
        self._leave_open(point)

    def _leave_open(self, point: SyncPoint) -> None:
        heapq.heappush(self._open, (point.until if point.until is not None else 1 << 62, -point.number, point))

    def _end(self, point: SyncPoint) -> None:
        """Ends a run or a merge call."""
        ranks = self._ranks.get(point.worker, set())
        if point.kind not in _RUNS:
            for rank in ranks:
                self._ready[rank] = self._program.get(point.worker, 0.0)
            return
        for rank in sorted(ranks & self._idle):
            self._compute(rank, point.number)
        self._idle -= ranks
        ready = {rank: max(self._ready.get(rank, 0.0), self._sent.get(rank, 0.0)) for rank in ranks}
        last = max(ready.values(), default=self._program.get(point.worker, 0.0))
        for rank in sorted(ranks):
            self._add(rank, "wait", self._ready.get(rank, 0.0), last, point.number)
            self._ready[rank] = last
        self._program[point.worker] = last

    def _compute(self, rank: int, number: int) -> float:
        """Lets a replica compute until it comes to a point; returns when it does."""
        begin = self._ready.get(rank, 0.0)
        end = begin + self._cost.computing(rank, self._rows.pop(rank, 0))
        self._idle.discard(rank)
        self._add(rank, "compute", begin, end, number)
        self._ready[rank] = end
        return end

    def _add(self, rank: int, does: Does, begin: float, end: float, number: int) -> None:
        if end > begin:
            self.spans.append(Span(rank, does, begin, end, number))

    def _arrive(self, point: SyncPoint) -> None:
        """Takes a point; where it is one of several workers', all of it with the last of them."""
        together = self._together[point.number]
        first = together[0].number
        arrived = self._arrived.setdefault(first, {})
        inside = [rank for rank in point.replicas if rank is not None]
        for rank in inside:
            arrived[rank] = self._compute(rank, point.number)
        if not inside:
            now = self._program.get(point.worker, 0.0)
            arrived |= dict.fromkeys(self._ranks.get(point.worker, ()), now)
        if point.number == max(one.number for one in together):
            self._complete(together, self._arrived.pop(first))

    def _complete(self, together: Sequence[SyncPoint], arrived: Mapping[int, float]) -> None:
        point = together[0]
        call = None if any(one.error is not None for one in together) else call_of(point)
        devices, size = len(arrived), max(map(size_of, together))
        seconds = 0.0 if call is None else self._cost.seconds(call, devices, size, self._algorithm)
        inside = any(rank is not None for rank in point.replicas)
        beside = self._cost.overlap and inside and call is not None and point.kind in _IN_BACKGROUND
        last = max(arrived.values(), default=0.0)
        begin = last if call is None else max(last, self._network_s)
        end = begin + seconds
        if beside:
            self._network_s = end
            self._add(NETWORK, "communicate", begin, end, point.number)
            self._sent |= dict.fromkeys(arrived, end)
        else:
            for rank, at in arrived.items():
                self._add(rank, "wait", at, begin, point.number)
                self._add(rank, "communicate", begin, end, point.number)
                self._ready[rank] = end
            self._program |= dict.fromkeys((one.worker for one in together), end)
        times = PointTimes(arrived, begin, end, call, devices, size, tuple(one.number for one in together))
        self.points |= dict.fromkeys(times.together, times)
        for one in together:
            if one.kind == "merge_call":
                self._leave_open(one)
