"""Finds the first event in which two traces differ."""

from collections.abc import Iterable
from itertools import zip_longest
from typing import NamedTuple

from simstrategy.trace.events import Event

__all__ = ["TraceDifference", "first_difference"]


class TraceDifference(NamedTuple):
    """The first unequal pair of events of two traces, left and right.

    None in place of an event: that trace has ended. `str` gives one line for a message.
    """

    position: int
    left: Event | None
    right: Event | None

    def __str__(self) -> str:
        return f"event {self.position}: {_text(self.left)} against {_text(self.right)}"


def _text(event: Event | None) -> str:
    return "the end" if event is None else event.line()


def first_difference(left: Iterable[Event], right: Iterable[Event]) -> TraceDifference | None:
    """Returns the first difference of two traces, or None where they are equal."""
    for index, (one, other) in enumerate(zip_longest(left, right)):
        if one != other:
            return TraceDifference(index, one, other)
    return None
