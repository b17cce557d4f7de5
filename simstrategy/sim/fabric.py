"""What joins the workers of a simulated cluster: each group-call waits until every worker has made its own.

A worker is a lane. Its backend's link parks the lane with what it contributes; when all have come, one
result is made of all parts and goes to everyone.
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
    """The meeting place of `workers` lanes."""

    __slots__ = ("_last_notes",)

    def __init__(self, workers: int) -> None:
        self._last_notes: list[Any] = [None] * workers

    def link(self, park: Park) -> Link:
        """Returns what one worker's backend calls; `park` is its lane's."""
        return lambda name, part, combine: park(_Call(name, part, combine))

    def meet(self, arrivals: list[Any], order: list[int]) -> Sequence[Any]:
        """Answers one group-call of every worker.  A worker that has left repeats its last note."""
        calls = [arrival for arrival in arrivals if arrival is not FINISHED]
        first: _Call = calls[0]
        assert all(call.name == first.name for call in calls), "the notes that came before would have told"
        assert first.name == "exchange" or len(calls) == len(arrivals), "a worker left without a note"
        parts = [
            last if arrival is FINISHED else arrival.part
            for arrival, last in zip(arrivals, self._last_notes, strict=True)
        ]
        if first.name == "exchange":
            self._last_notes = parts
        result = first.combine(parts)
        return [result] * len(arrivals)
