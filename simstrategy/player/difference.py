"""Where two runs of a page differ first: another call, or other bits in what every replica gets."""

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Final, NamedTuple

from simstrategy.player.stops import ENDS, Event, Stop
from simstrategy.trace import SyncPoint

__all__ = ["Difference", "calls_of", "first_difference", "request_of"]

_OWN: Final = ("run", "merge_call", "update", "update_non_slot", "sizes", "next")
"""Calls of which each replica brings and gets values of its own, which follow from the number of replicas."""


class Difference(NamedTuple):
    """The first difference: the numbers of the stops in both runs, and what differs."""

    here: int
    there: int
    text: str


def first_difference(
    reference: tuple[Sequence[Event], Sequence[Stop]], other: tuple[Sequence[Event], Sequence[Stop]]
) -> Difference | None:
    """Returns where another run differs from a reference; None where no call and no common result does.

    Bits are compared, so a difference may be rounding alone. here: in the other run. there: in the reference.
    """
    last = (max(len(other[1]) - 1, 0), max(len(reference[1]) - 1, 0))
    for one, two in zip_longest(calls_of(*reference), calls_of(*other)):
        if one is None or two is None:
            missing = "has ended where this one goes on" if one is None else "goes on where this one has ended"
            return Difference(two[0] if two else last[0], one[0] if one else last[1], f"The other run {missing}.")
        (there, call), (here, its) = one, two
        if request_of(call) != request_of(its):
            return Difference(here, there, "The runs make different calls here.")
        if call.error != its.error:
            return Difference(here, there, "One of the runs ends with an error here.")
        if call.kind not in _OWN and _result(call) != _result(its):
            return Difference(here, there, "The results have different bits here, for the first time.")
    return None


def calls_of(events: Sequence[Event], stops: Sequence[Stop]) -> Iterator[tuple[int, SyncPoint]]:
    """Yields the calls of worker 0, each once."""
    for place, stop in enumerate(stops):
        event = events[stop.event]
        if isinstance(event, SyncPoint) and event.worker == 0 and stop.phase != ENDS and event.kind != "sizes":
            yield place, event


def request_of(point: SyncPoint) -> tuple[object, ...]:
    """Returns what makes a call the same in two runs."""
    return point.kind, point.op, point.axis, point.subject, point.sites[:1]


def _result(point: SyncPoint) -> tuple[str, ...]:
    """Returns the digests of what the first replica got."""
    return tuple(value.digest for value in point.outputs[0]) if point.outputs else ()
