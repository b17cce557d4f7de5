"""Whole clusters in one process: several workers, each with its own program, strategy and replicas.

The one place where the simulator meets strategies: a worker's program is given one, as on a real cluster.
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, final

from simstrategy.device import Backend
from simstrategy.errors import InvalidArgument, PeerFailed
from simstrategy.run import Lanes, Park
from simstrategy.schedules import InOrder, Schedule
from simstrategy.sim.backend import SimBackend, simulated_devices
from simstrategy.sim.fabric import Fabric
from simstrategy.strategy import Semantics, Strategy
from simstrategy.trace import Trace

__all__ = ["Cluster", "Outcome"]


class Outcome(NamedTuple):
    """How one worker's program ended: with a result, or with an error."""

    result: Any
    error: Exception | None


@final
class Cluster:
    """`workers` simulated processes of `replicas_per_worker` replicas each; replica ids are global.

    order: of additions, as `ss.backend("sim", order=…)`. wrap: puts something around each worker's backend.
    Other arguments are those of every worker's strategy.
    """

    def __init__(
        self,
        workers: int,
        replicas_per_worker: int,
        *,
        semantics: Semantics | None = None,
        schedule: Schedule | None = None,
        checks: bool | Literal["strict"] = True,
        trace: Trace | None = None,
        order: str = "linear",
        wrap: Callable[[Backend], Backend] = lambda backend: backend,
    ) -> None:
        for name, count in (("workers", workers), ("replicas_per_worker", replicas_per_worker)):
            if not isinstance(count, int) or isinstance(count, bool) or count < 1:
                raise InvalidArgument(
                    f"A cluster takes {name} of at least 1, got {count!r}. Pass an int, for example 2."
                )
        self.workers = workers
        self.replicas_per_worker = replicas_per_worker
        self._semantics = semantics
        self._schedule = InOrder() if schedule is None else schedule
        self._checks: bool | Literal["strict"] = checks
        self._trace = trace
        self._order = order
        self._wrap = wrap

    def run(self, main: Callable[[Strategy], Any]) -> tuple[Any, ...]:
        """Runs `main(strategy)` as every worker; returns their results in worker order.

        If workers fail, raises the first one's error that was not caused by another worker's failure.
        """
        outcomes = self.outcomes(main)
        errors = [outcome.error for outcome in outcomes if outcome.error is not None]
        causes = [error for error in errors if not isinstance(error, PeerFailed)]
        if errors:
            raise (causes or errors)[0]
        return tuple(outcome.result for outcome in outcomes)

    def outcomes(self, main: Callable[[Strategy], Any]) -> tuple[Outcome, ...]:
        """Runs `main(strategy)` as every worker; returns how each ended."""
        fabric = Fabric(self.workers)
        lanes = Lanes("greenlet", self._schedule)
        devices = simulated_devices(self.workers, self.replicas_per_worker)

        def body(worker: int, park: Park) -> Outcome:
            link = fabric.link(park) if self.workers > 1 else None
            backend = SimBackend(devices, worker=worker, order=self._order, link=link)
            strategy = Strategy.multi_worker(
                self._wrap(backend),
                semantics=self._semantics,
                schedule=self._schedule,
                checks=self._checks,
                trace=self._trace,
            )
            room = strategy.extended.engine.room
            try:
                result = main(strategy)
            except Exception as error:  # noqa: BLE001 - kept, as a process keeps its own: the other workers go on and hear of it
                room.leave(error)
                return Outcome(None, error)
            room.leave()
            return Outcome(result, None)

        return tuple(lanes.run(self.workers, body, fabric.meet, _never_fails))


def _never_fails(index: int, error: BaseException, arrivals: Sequence[Any], order: Sequence[int]) -> None:
    """A worker's lane raises only what ends the whole simulation, such as KeyboardInterrupt."""
