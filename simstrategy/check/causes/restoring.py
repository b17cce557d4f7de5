"""Gives some synchronisation points of a run other results than the replicas' values, as an experiment.

If a point receives the reference's result, and what differed after it agrees, the difference came through this point.
Collectives in replica functions are given results, and what the function of replica 0 returns.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, final

import numpy as np

from simstrategy import tree
from simstrategy.check.causes.facts import Host, PointFacts
from simstrategy.check.in_replicas import in_replicas
from simstrategy.device import Backend, Device
from simstrategy.device.wrapper import Wrapper
from simstrategy.run import Suspend
from simstrategy.trace import Recording, Request

__all__ = ["Experiment", "Given", "RestoredBackend", "given_at", "is_restorable"]

Experiment = Callable[[int, Sequence[Host | None]], Sequence[PointFacts]]
"""Runs the other program again; returns the points of that run.

It receives the number of a point, and for each of its leaves another result [any shape], or None to leave it.
"""

_KINDS = ("all_reduce", "run")


class Given(NamedTuple):
    """Results of one point.

    kind, place: it is the so many-th point of its kind, from 1. leaves: [any shape], or None to leave one.
    """

    kind: str
    place: int
    leaves: Sequence[Host | None]


def is_restorable(point: PointFacts) -> bool:
    """Returns whether a point's results can be given: of a collective in replica functions, or of a run."""
    return point.what in _KINDS and point.number >= 0


def given_at(recording: Recording, number: int, leaves: Sequence[Host | None]) -> Given:
    """Returns the results of a point by its place among those of its kind.  Raises StopIteration for no such point."""
    kind = next(point.kind for point in recording.points if point.number == number)
    made = sorted([point.number for point in recording.points if point.kind == kind])
    return Given(kind, made.index(number) + 1, leaves)


@final
class RestoredBackend(Wrapper):
    """Gives one all-reduce of the replicas, or one `run`, other results."""

    __slots__ = ("_counts", "_given")

    def __init__(self, inner: Backend, given: Given) -> None:
        Wrapper.__init__(self, inner)
        self._given = given
        self._counts: Counter[tuple[str, int]] = Counter()

    def prepare(self, function: Callable[..., Any]) -> Callable[..., Any]:
        inner = self._inner.prepare(function)
        return in_replicas(inner, self.local_devices, self._suspend, self._call)

    def _call(self, function: Callable[..., Any], device: Device, args: Any, kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        # Replica 0 alone: a program that combines the results has other ones then.
        meant = self._is_meant("run", device) and device.rank == 0
        return self._restored(result, device) if meant else result

    def _is_meant(self, kind: str, device: Device) -> bool:
        """Counts a point of a replica; returns whether it is the one that receives results."""
        self._counts[kind, device.rank] += 1
        return (kind, self._counts[kind, device.rank]) == (self._given.kind, self._given.place)

    def _suspend(self, device: Device, suspend: Suspend) -> Suspend:
        def counted(request: Request, payload: Any, site: Any, resolve: Any, size: int | None, /) -> Any:
            answer = suspend(request, payload, site, resolve, size)
            meant = request.kind == "all_reduce" and self._is_meant("all_reduce", device)
            return self._restored(answer, device) if meant else answer

        return counted

    def _restored(self, nest: Any, device: Device) -> Any:
        """Returns a nest whose arrays are the given ones, where these have the same shapes."""
        leaves, structure = tree.flatten(nest)
        kinds = (*self.array_types, np.ndarray, np.generic, bool, int, float, complex)
        places = [number for number, leaf in enumerate(leaves) if isinstance(leaf, kinds)]
        if len(places) != len(self._given.leaves):
            return nest
        for place, new in zip(places, self._given.leaves, strict=True):
            leaf = leaves[place]
            if new is not None and isinstance(leaf, self.array_types) and self._inner.spec(leaf)[0] == new.shape:
                leaves[place] = self._inner.put(new.astype(self._inner.spec(leaf)[1]), device)
        return tree.unflatten(structure, leaves)
