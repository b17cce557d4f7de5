"""Where two runs of a page differ first: another call, or other bits in what every replica gets.

A run that ended with an error has no first difference where it is equal up to there: what comes after it is missing.
"""

from collections.abc import Container, Iterator, Sequence
from itertools import zip_longest
from typing import Final, NamedTuple

from simstrategy.player.apart import OWN, near
from simstrategy.player.raised import error_text, errors_of, raised_at
from simstrategy.player.stops import BEGINS, ENDS, Event, Stop
from simstrategy.trace import SyncPoint

__all__ = ["Difference", "calls_of", "first_difference", "request_of"]

_BITS: Final = "The results have different bits here, for the first time."
_ROUNDED: Final = f"{_BITS} Rounding may explain all of them."
_SIZED: Final = "The results have another shape here, for the first time: it may follow from the number of replicas."
_SCALED: Final = (
    "The results are {0} times those of the other run here, for the first time: this run has {0} times its replicas. "
    "That is right for a sum that is divided by their number later."
)
_BEYOND: Final = "The results are apart here by more than rounding explains, for the first time."

Run = tuple[Sequence[Event], Sequence[Stop]]


class Difference(NamedTuple):
    """The first difference: the numbers of the stops in both runs, and what differs.

    ended: whether nothing differs until one of the runs ended with an error; the stop of that run is its error then.
    """

    here: int
    there: int
    text: str
    ended: bool = False


def first_difference(reference: Run, other: Run) -> Difference | None:
    """Returns where another run differs from a reference; None where no call and no common result does.

    A result that rounding may have set apart, or whose shape may follow from the number of replicas, is a difference
    where no other follows. here: in the other run. there: in
    the reference.
    """
    found = _found(reference, other)
    if found is None and [*errors_of(reference[0])] != [*errors_of(other[0])]:
        found = Difference(len(other[1]) - 1, len(reference[1]) - 1, "")  # after all calls
    if found is None:
        return None
    here, there = _raised(other, found.here), _raised(reference, found.there)
    if here is None and there is None:
        return found
    ends = [
        *([] if here is None else [f"This run ended with {here[1]}."]),
        *([] if there is None else [f"The other run ended with {there[1]}."]),
        "Up to there no call, and no result that all replicas get, differs.",
    ]
    places = (found.here if here is None else here[0], found.there if there is None else there[0])
    return Difference(*places, " ".join(ends), ended=True)


def _raised(run: Run, place: int) -> tuple[int, str] | None:
    """Returns the stop and the text of the error that ended a run, where that stop is not after a place."""
    events, stops = run
    raised = raised_at(events, stops)
    if raised is None or raised[0] > place:
        return None
    return raised[0], error_text(events[stops[raised[0]].event], errors_of(events))


def _found(reference: Run, other: Run) -> Difference | None:
    """Returns the first difference, which may follow from an error that ended one of the runs."""
    last = (max(len(other[1]) - 1, 0), max(len(reference[1]) - 1, 0))
    ended = {**errors_of(reference[0]), **errors_of(other[0])}
    lawful: Difference | None = None
    for one, two in zip_longest(calls_of(*reference), calls_of(*other)):
        if one is None or two is None:
            missing = "has ended where this one goes on" if one is None else "goes on where this one has ended"
            return Difference(two[0] if two else last[0], one[0] if one else last[1], f"The other run {missing}.")
        (there, call), (here, its) = one, two
        if request_of(call) != request_of(its):
            return Difference(here, there, "The runs make different calls here.")
        if _is_later(other[1][here], its, ended) or _is_later(reference[1][there], call, ended):
            continue
        if call.error != its.error:
            return Difference(here, there, "One of the runs ends with an error here.")
        if call.kind not in OWN and _result(call) != _result(its):
            why = _lawful(call, its)
            if why is None:
                return Difference(here, there, _times(call, its) or (_BITS if lawful is None else _BEYOND))
            lawful = lawful or Difference(here, there, why)
    return lawful


def _lawful(one: SyncPoint, two: SyncPoint) -> str | None:
    """Returns what explains that the first replicas got other values, as far as known; None for nothing.

    It is rounding, or other shapes with another number of replicas, such as those of what is gathered.
    """
    got = [point.outputs[0] if point.outputs else () for point in (one, two)]
    if near(*got):
        return _ROUNDED
    forms = [[(value.dtype, value.shape) for value in values] for values in got]
    return _SIZED if len(one.replicas) != len(two.replicas) and forms[0] != forms[1] else None


def _times(one: SyncPoint, two: SyncPoint) -> str:
    """Returns that the second run's replicas got as many times the first one's values as they are more; else ""."""
    factor = len(two.replicas) / max(len(one.replicas), 1)
    got = [point.outputs[0] if point.outputs else () for point in (one, two)]
    return _SCALED.format(f"{factor:g}") if factor != 1 and near(*got, factor=factor) else ""


def _is_later(stop: Stop, call: SyncPoint, ended: Container[object]) -> bool:
    """Returns whether a call that begins here ends with the error of the program: its parts come before that."""
    return stop.phase == BEGINS and call.error in ended


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
