"""Gives some synchronisation points of a run other results than the replicas' values, as an experiment.

If a point receives the reference's result, and what differed after it agrees, the difference came through this point.
Only collectives in replica functions are given results, and only of one process.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, final

from simstrategy import tree
from simstrategy.check.causes.facts import Leaves, PointFacts
from simstrategy.device import Backend, Device
from simstrategy.device.wrapper import Wrapper
from simstrategy.run import Suspend
from simstrategy.strategy.modes import current_mode
from simstrategy.trace import Recording, Request

__all__ = ["Experiment", "RestoredBackend", "is_restorable", "places_of"]

Experiment = Callable[[Mapping[int, Leaves]], Sequence[PointFacts]]
"""Runs the other program again, with other results of points, by their numbers; returns the points of that run."""

_KIND = "all_reduce"


def is_restorable(point: PointFacts) -> bool:
    """Returns whether a point's results can be given: of a collective in replica functions."""
    return point.what == _KIND and point.number >= 0


def places_of(recording: Recording, changes: Mapping[int, Leaves]) -> dict[int, Leaves]:
    """Returns the results by the place, from 1, of their point among all that can be given some."""
    made = sorted([point.number for point in recording.points if point.kind == _KIND])
    return {made.index(number) + 1: leaves for number, leaves in changes.items() if number in made}


@final
class RestoredBackend(Wrapper):
    """Gives the k-th all-reduce of the replicas the leaves [any shape] of `results[k]`, in place of its own."""

    __slots__ = ("_counts", "_results")

    def __init__(self, inner: Backend, results: Mapping[int, Leaves]) -> None:
        Wrapper.__init__(self, inner)
        self._results = results
        self._counts: dict[int, int] = {}

    def prepare(self, function: Callable[..., Any]) -> Callable[..., Any]:
        inner = self._inner.prepare(function)

        def prepared(*args: Any, **kwargs: Any) -> Any:
            mode = current_mode()
            replica: Any = None if mode is None else mode.replica
            if replica is not None:
                replica.suspend = self._suspend(self.local_devices[replica.index], replica.suspend)
            return inner(*args, **kwargs)

        return prepared

    def _suspend(self, device: Device, suspend: Suspend) -> Suspend:
        def counted(request: Request, payload: Any, site: Any, resolve: Any, size: int | None, /) -> Any:
            if request.kind != _KIND:
                return suspend(request, payload, site, resolve, size)
            place = self._counts[device.rank] = self._counts.get(device.rank, 0) + 1
            leaves = self._results.get(place)
            if leaves is not None:
                resolve = self._given(resolve, leaves)
            return suspend(request, payload, site, resolve, size)

        return counted

    def _given(self, resolve: Callable[..., Sequence[Any]], results: Leaves) -> Callable[..., Sequence[Any]]:
        """Returns what answers with these results, where they have the forms of the answers."""

        def answered(request: Request, payloads: Sequence[Any], sizes: tuple[int, ...]) -> Sequence[Any]:
            answers = resolve(request, payloads, sizes)
            given = []
            for answer, device in zip(answers, self.local_devices, strict=True):
                leaves, structure = tree.flatten(answer)
                if [self._inner.spec(leaf)[0] for leaf in leaves] != [one.shape for one in results]:
                    return answers
                made = [
                    self._inner.put(one.astype(self._inner.spec(leaf)[1]), device)
                    for leaf, one in zip(leaves, results, strict=True)
                ]
                given.append(tree.unflatten(structure, made))
            return given

        return answered
