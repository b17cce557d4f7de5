"""Which stop of one run is the same event as a stop of another: known up to the first call that is another one.

The calls of worker 0 are paired in their order. Between two of them an event is named by what it is, its line and its
turn there. After a call that the runs do not share nothing is paired.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import TypeAlias

from simstrategy.player.difference import calls_of, request_of
from simstrategy.player.stops import ENDS, Event, Stop
from simstrategy.trace import Printed, StepParts, SyncPoint, VariableWrite

__all__ = ["aligned"]

Run: TypeAlias = tuple[Sequence[Event], Sequence[Stop]]
Name: TypeAlias = tuple[object, ...]


def aligned(reference: Run, other: Run) -> list[int | None]:
    """Returns for each stop of another run that of the same event in a reference; None where that is not known.

    A write of one replica is paired with that of the same replica, or else with that of all replicas, or of replica 0.
    """
    pairs = zip(calls_of(*reference), calls_of(*other), strict=False)
    count = sum(1 for _ in takewhile(lambda pair: request_of(pair[0][1]) == request_of(pair[1][1]), pairs))
    known = {name: place for place, name in _named(*reference, count)}
    found: list[int | None] = [None] * len(other[1])
    for place, name in _named(*other, count):
        *what, replica = name
        alike = ((*what, one) for one in (replica, None, 0))
        found[place] = next((known[one] for one in alike if one in known), None)
    return found


def _named(events: Sequence[Event], stops: Sequence[Stop], count: int) -> Iterator[tuple[int, Name]]:
    """Yields the stops up to the call after the first `count` ones, each with its name; the replica stands last."""
    begun = {place: number for number, (place, _) in enumerate(calls_of(events, stops), 1)}
    number = 0
    turns: Counter[Name] = Counter()
    for place, stop in enumerate(stops):
        number = begun.get(place, number)
        if number > count:
            return
        *what, replica = _name(events[stop.event])
        named = (number, stop.phase == ENDS, *what, replica)
        yield place, (*named[:-1], turns[named], replica)
        turns[named] += 1


def _name(event: Event) -> Name:
    """Returns what an event is, and last its replica; None for all."""
    if isinstance(event, SyncPoint):
        return event.worker, *request_of(event), None
    if isinstance(event, VariableWrite):
        return event.worker, event.operation, event.variable, event.site, event.replica
    if isinstance(event, StepParts):
        return event.worker, "parts", event.site, None
    if isinstance(event, Printed):
        return event.worker, "print", event.replica
    return event.worker, "result", None
