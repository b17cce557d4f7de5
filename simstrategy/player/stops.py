"""The order in which a recording is walked: what stands beside what, stop by stop.

A point inside of which other things happened has two stops, its beginning and its end; every other event has one.
"""

import heapq
from collections.abc import Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

from simstrategy.trace import Printed, Recording, Result, StepParts, SyncPoint, VariableWrite
from simstrategy.trace.recording import HOLDS

__all__ = ["BEGINS", "ENDS", "WHOLE", "Event", "Stop", "columns_of", "events_of", "stops_of"]

Event: TypeAlias = SyncPoint | StepParts | VariableWrite | Printed | Result

Phase: TypeAlias = Literal[0, 1, 2]
WHOLE: Final = 0
BEGINS: Final = 1
ENDS: Final = 2


class Stop(NamedTuple):
    """One position.  event: which one of `events_of`. phase: whether it is the beginning, the end or all of it."""

    event: int
    phase: Phase


def columns_of(recording: Recording) -> list[list[int]]:
    """Returns for each worker the ranks of its replicas."""
    replicas, workers = recording.header.get("replicas"), recording.header.get("workers")
    if isinstance(replicas, int) and isinstance(workers, int) and workers > 0 and 0 < replicas <= 1 << 16:
        each = max(replicas // workers, 1)
        return [list(range(worker * each, (worker + 1) * each)) for worker in range(min(workers, 1 << 16))]
    found: dict[int, set[int]] = {}
    for point in recording.points:
        ranks = found.setdefault(point.worker, set())
        ranks |= {rank for rank in point.replicas if rank is not None}
    for worker, ranks in found.items():
        if not ranks:
            local = max((len(point.inputs) for point in recording.points if point.worker == worker), default=1)
            ranks |= set(range(max(local, 1)))
    return [sorted(found.get(worker, {0})) for worker in range(max(found, default=0) + 1)]


def events_of(recording: Recording) -> list[Event]:
    """Returns all events in their order, results last; a write of a point that did nothing else is a part of it.

    What `_` holds is none: a script that calls a value so does not use it.
    """
    placed: list[SyncPoint | StepParts | VariableWrite | Printed] = [
        *recording.points,
        *recording.parts,
        *recording.prints,
        *recording.writes,
    ]
    placed.sort(key=lambda one: one.number)
    points = {point.number for point in recording.points if not _inside(point, placed)}
    kept = [one for one in placed if not (isinstance(one, VariableWrite) and (one.point in points or _unused(one)))]
    return [*kept, *recording.results]


def _unused(write: VariableWrite) -> bool:
    """Returns whether a write is a value that the script does not use."""
    return write.operation == HOLDS and write.variable == "_"


def _inside(point: SyncPoint, placed: Sequence[Event]) -> bool:
    """Returns whether anything but the point's own write stands between its beginning and its end."""
    if point.until is None:
        return False
    first = _index(placed, point.number) + 1
    for one in placed[first : first + (point.until - point.number - 1)]:
        if isinstance(one, Result) or one.number >= point.until:
            break
        if not isinstance(one, VariableWrite) or one.point != point.number:
            return True
    return False


def _index(placed: Sequence[Event], number: int) -> int:
    low, high = 0, len(placed)
    while low < high:
        middle = (low + high) // 2
        one = placed[middle]
        if not isinstance(one, Result) and one.number < number:
            low = middle + 1
        else:
            high = middle
    return low


def stops_of(events: Sequence[Event]) -> list[Stop]:
    """Returns the stops of events in their order."""
    stops: list[Stop] = []
    ending: list[tuple[int, int, int]] = []
    """Of the points that are open: where they end, the later begun first, and their events."""
    for index, event in enumerate(events):
        number = None if isinstance(event, Result) else event.number
        while ending and (number is None or ending[0][0] <= number):
            stops.append(Stop(heapq.heappop(ending)[2], ENDS))
        if isinstance(event, SyncPoint) and _has_parts(event, index, events):
            stops.append(Stop(index, BEGINS))
            if event.until is not None:
                heapq.heappush(ending, (event.until, -event.number, index))
        else:
            stops.append(Stop(index, WHOLE))
    stops += [Stop(index, ENDS) for _, _, index in sorted(ending)]
    return stops


def _has_parts(point: SyncPoint, index: int, events: Sequence[Event]) -> bool:
    """Returns whether the next event stands inside of a point."""
    following = events[index + 1] if index + 1 < len(events) else None
    if following is None or isinstance(following, Result):
        return False
    return point.until is None or following.number < point.until
