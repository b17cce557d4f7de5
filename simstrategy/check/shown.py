"""The runs in which a finding shows, as data: what a page needs to make and open them.  Nothing runs here."""

from collections.abc import Callable
from typing import Any, NamedTuple

from simstrategy.schedules import InOrder, Schedule
from simstrategy.trace.recording import EventAt

__all__ = ["Shown", "Way", "of_replicas"]


class Way(NamedTuple):
    """How a run is made again.

    name: in what it differs from the reference run with as many replicas; "" where it is that run. backend: None for
    that of the reference. schedule: makes the order of the replicas. order: of the simulator's additions; None for the
    setting of the check. arguments: of the program, in place of the first values of `vary`.
    """

    name: str
    replicas: int
    backend: str | None = None
    schedule: Callable[[], Schedule] = InOrder
    order: str | None = None
    arguments: tuple[tuple[str, Any], ...] = ()

    @property
    def title(self) -> str:
        """What a page calls the run."""
        count = "1 replica" if self.replicas == 1 else f"{self.replicas} replicas"
        return f"{count}, {self.name}" if self.name else count


class Shown(NamedTuple):
    """The runs in which a finding shows.  ways: the reference first, where there is one; the last is the run at fault.

    place: of the event of the cause among the points, parts and writes of the last run; None where it is not known. at:
    what is known of that event else.
    """

    ways: tuple[Way, ...]
    place: int | None = None
    at: EventAt | None = None


def of_replicas(count: int) -> Way:
    """Returns the way of the reference run with a number of replicas.

    >>> of_replicas(3).title
    '3 replicas'
    """
    return Way("", count)
