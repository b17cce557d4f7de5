"""The connection of the workers of a simulated cluster: a group-call waits until every worker has made it.

Each worker is a task. The link of its backend suspends the task with its part of the call; when all workers are there,
one result is computed from all parts and returned to each of them.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, final

from simstrategy.run import FINISHED, Park
from simstrategy.sim.backend import Link

__all__ = ["Fabric"]


class _Call(NamedTuple):
    name: str
    part: Any
    combine: Callable[[list[Any]], Any]


@final
class Fabric:
    """Combines the group-calls of all workers of a simulated cluster."""

    __slots__ = ("_last_notes",)

    def __init__(self, workers: int) -> None:
        self._last_notes: list[Any] = [None] * workers

    def link(self, park: Park) -> Link:
        """Returns the function that a worker's backend calls for each group-call; park: suspends the worker's task."""
        return lambda name, part, combine: park(_Call(name, part, combine))

    def meet(self, arrivals: list[Any], order: list[int]) -> Sequence[Any]:
        """Computes the results of one group-call of every worker; repeats the last message of an ended worker."""
        calls = [arrival for arrival in arrivals if arrival is not FINISHED]
        first: _Call = calls[0]
        assert all(call.name == first.name for call in calls), "the exchange before each call compares the calls"
        assert first.name == "exchange" or len(calls) == len(arrivals), "a worker ended without a message"
        parts = [
            last if arrival is FINISHED else arrival.part
            for arrival, last in zip(arrivals, self._last_notes, strict=True)
        ]
        if first.name == "exchange":
            self._last_notes = parts
        result = first.combine(parts)
        return [result] * len(arrivals)
