"""The stop that a page opens at: of a known event, or else the first that stands out."""

from simstrategy.player.difference import first_difference
from simstrategy.player.marks import marks_of
from simstrategy.player.stops import Event, Stop, columns_of, events_of, stops_of
from simstrategy.trace import Printed, Recording, Result
from simstrategy.trace.recording import EventAt

__all__ = ["opening_stop"]


def opening_stop(
    recording: Recording, place: int | None = None, reference: Recording | None = None, at: EventAt | None = None
) -> int:
    """Returns the number of the stop at which a run is shown first.

    place: of an event, counted without what was printed. at: an event by its line, where the place is not known. Where
    both are None or name no event, the first error is shown, then the first difference from the reference, then the
    end.
    """
    events = events_of(recording)
    stops = stops_of(events)
    number = None
    if place is not None:
        number = _with_prints(recording, place)
    elif at is not None:
        number = recording.number_at(at)
    found = None if number is None else _of_number(recording, number, events, stops)
    if found is not None:
        return found
    errors = marks_of(recording, columns_of(recording), events, stops)["error"]
    if errors:
        return errors[0]
    before = [] if reference is None else events_of(reference)
    differs = first_difference((before, stops_of(before)), (events, stops)) if before else None
    return max(len(stops) - 1, 0) if differs is None else differs.here


def _with_prints(recording: Recording, place: int) -> int:
    """Returns the number of the event with a place that is counted without what was printed."""
    number = place
    for printed in sorted(one.number for one in recording.prints):
        number += printed <= number
    return number


def _of_number(recording: Recording, number: int, events: list[Event], stops: list[Stop]) -> int | None:
    """Returns the last stop of the event with a number; of a write that is a part of a point, that of the point."""
    writes = {write.number: write.point for write in recording.writes}
    for wanted in (number, writes.get(number)):
        for at in range(len(stops) - 1, -1, -1):
            event = events[stops[at].event]
            if not isinstance(event, Result | Printed) and event.number == wanted:
                return at
    return None
