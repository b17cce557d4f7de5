"""What a lane is to those who run it, and how a lane that waits is stopped.

No schedule and no meeting: `lanes.py` and `relay.py` run groups of lanes.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Protocol

__all__ = ["FINISHED", "Body", "Failed", "Job", "Lane", "LaneStopped", "Meet", "Park", "stop"]

Park = Callable[[Any], Any]
Body = Callable[[int, Park], Any]
"""Runs as the lane of this index; parks by calling its second argument."""
Meet = Callable[[list[Any], list[int]], Sequence[Any]]
"""Takes all lanes' arrivals and the order in which they came; returns the answers in lane order."""
Failed = Callable[[int, BaseException, list[Any], list[int]], None]
"""Is told of the lane that raised, its exception, all lanes' latest arrivals, and who came in this round."""

Job = tuple[Body, Iterator[int], list[Any], Park, Park]
"""What a lane is told first: its body, what gives its index next, where its result goes, how it parks, and where it
goes at the end."""

FINISHED: Final[tuple[Any, ...]] = (None,) * 5
"""Stands for the arrival of a lane that has returned; compared by identity."""

_STOP_TRIES: Final = 100


class LaneStopped(BaseException):
    """Raised inside a waiting lane whose run is over because another lane raised."""


class Lane(Protocol):
    """What a greenlet offers, and a pooled thread imitates."""

    def switch(self, answer: Any, /) -> Any:
        """Runs the lane until it parks or returns; gives its arrival or FINISHED, or raises what it raised."""
        ...

    def throw(self, error: BaseException, /) -> Any:
        """Raises `error` where the lane waits; gives what `switch` gives."""
        ...


def stop(lanes: Sequence[Lane], arrivals: list[Any]) -> None:
    """Ends all lanes that wait, in order: those whose latest arrival is neither None nor FINISHED."""
    for lane, latest in zip(lanes, arrivals, strict=True):
        arrival, tries = latest, 0
        while arrival is not None and arrival is not FINISHED and tries < _STOP_TRIES:
            tries += 1
            try:
                arrival = lane.throw(LaneStopped())
            except BaseException:  # noqa: BLE001 - the run already has its exception; this lane only had to end
                arrival = FINISHED
