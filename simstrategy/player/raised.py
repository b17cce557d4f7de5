"""Where an error ended the program of a run, and which one."""

from collections.abc import Mapping, Sequence
from typing import Final

from simstrategy.errors import ReplicasDisagree
from simstrategy.player.stops import BEGINS, Event, Stop
from simstrategy.trace import Result, SyncPoint

__all__ = ["error_text", "errors_of", "raised_at"]

_TEXT_MAX: Final = 160


def errors_of(events: Sequence[Event]) -> dict[tuple[str, str], str]:
    """Returns the errors with which programs ended, class and text, each with its line or ""."""
    return {one.error: one.site for one in events if isinstance(one, Result) and one.error is not None}


def raised_at(events: Sequence[Event], stops: Sequence[Stop]) -> tuple[int, str] | None:
    """Returns the first stop with an error that ended the program, and what happens there; None where none did."""
    ended = errors_of(events)
    for place, stop in enumerate(stops if ended else ()):
        event = events[stop.event]
        if isinstance(event, SyncPoint | Result) and event.error in ended and stop.phase != BEGINS:
            assert event.error is not None
            disagree = event.error[0] == ReplicasDisagree.__name__
            return place, "the replicas disagree" if disagree else f"the program raises {event.error[0]}"
    return None


def error_text(event: Event, ended: Mapping[tuple[str, str], str]) -> str:
    """Returns the error at an event, with its line, such as ``ValueError: text (at a.py:3)``.  ended: of the run."""
    assert isinstance(event, SyncPoint | Result)
    assert event.error is not None
    kind, text = event.error
    site = ended[event.error]
    first = text.strip().partition("\n")[0]
    cut = first if len(first) <= _TEXT_MAX else f"{first[:_TEXT_MAX]} …"
    return f"{kind}{f': {cut}' if cut else ''}{f' (at {site})' if site else ''}"
