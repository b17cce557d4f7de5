"""Simulated clusters in one process: several workers, each with its own program, strategy and replicas.

This is the only module of the simulator that imports strategies.
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, cast, final

from simstrategy.device import Backend
from simstrategy.errors import InvalidArgument, InvalidType, PeerFailed
from simstrategy.run import ReplicaTasks, SuspendTask
from simstrategy.schedules import InOrder, Schedule
from simstrategy.short_repr import short_repr
from simstrategy.sim.backend import SimBackend, simulated_devices
from simstrategy.sim.fabric import Fabric
from simstrategy.strategy import Semantics, Strategy, group_of
from simstrategy.trace import Trace

__all__ = ["Cluster", "Outcome"]


class Outcome(NamedTuple):
    """How the program of one worker ended: with a result, or with an error; the other one is None."""

    result: Any
    error: Exception | None


@final
class Cluster:
    """Simulates `workers` processes with `replicas_per_worker` replicas each; replica ids are global.

    order: of additions, as in `ss.backend("sim", order=…)`. wrap: a function that wraps the backend of each worker. The
    other arguments are those of `Strategy.multi_worker`, for every worker. Raises InvalidArgument for counts
    below 1, and what `Strategy.multi_worker` raises for a setting.

    >>> import numpy as np
    >>> def program(strategy):
    ...     per_replica = strategy.run(lambda: np.float32(1))
    ...     return float(strategy.reduce("SUM", per_replica, axis=None))
    >>> Cluster(workers=2, replicas_per_worker=3).run(program)
    (6.0, 6.0)
    """

    def __init__(
        self,
        workers: int,
        replicas_per_worker: int,
        *,
        semantics: Semantics | None = None,
        schedule: Schedule | None = None,
        checks: bool | Literal["paths", "strict"] = True,
        trace: Trace | None = None,
        order: str = "linear",
        wrap: Callable[[Backend], Backend] = lambda backend: backend,
    ) -> None:
        for name, count in (("workers", workers), ("replicas_per_worker", replicas_per_worker)):
            if not isinstance(count, int) or isinstance(count, bool) or count < 1:
                raise InvalidArgument(
                    f"A cluster takes {name} of at least 1, got {short_repr(count)}. Pass an int, for example 2."
                )
        if not callable(wrap):
            raise InvalidType(f"wrap is a function of a backend that returns one, got {wrap!r}. Pass a function.")
        # Examines the settings that every worker gets, before any of them runs.
        alone = SimBackend(simulated_devices(1, 1), worker=0, order=order)
        Strategy.multi_worker(
            cast("Backend", alone), semantics=semantics, schedule=schedule, checks=checks, trace=trace
        ).close()
        self.workers = workers
        self.replicas_per_worker = replicas_per_worker
        self._semantics = semantics
        self._schedule = InOrder() if schedule is None else schedule
        self._checks: bool | Literal["paths", "strict"] = checks
        self._trace = trace
        self._order = order
        self._wrap = wrap

    def run(self, main: Callable[[Strategy], Any]) -> tuple[Any, ...]:
        """Runs `main(strategy)` in every worker; returns their results in worker order.

        If workers fail, raises the error of the first one that was not caused by another worker's failure.
        """
        outcomes = self.outcomes(main)
        errors = [outcome.error for outcome in outcomes if outcome.error is not None]
        causes = [error for error in errors if not isinstance(error, PeerFailed)]
        if errors:
            raise (causes or errors)[0]
        return tuple(outcome.result for outcome in outcomes)

    def outcomes(self, main: Callable[[Strategy], Any]) -> tuple[Outcome, ...]:
        """Runs `main(strategy)` in every worker; returns how each one ended, in worker order."""
        if not callable(main):
            raise InvalidType(
                f"A cluster runs a function of a strategy in every worker, got {main!r}. Pass a function."
            )
        fabric = Fabric(self.workers)
        tasks = ReplicaTasks("greenlet", self._schedule, name="worker {}".format)
        devices = simulated_devices(self.workers, self.replicas_per_worker)

        def body(worker: int, suspend: SuspendTask) -> Outcome:
            link = fabric.link(suspend) if self.workers > 1 else None
            backend = SimBackend(devices, worker=worker, order=self._order, link=link)
            strategy = Strategy.multi_worker(
                # A backend gets back its own arrays alone: for the core they are opaque.
                self._wrap(cast("Backend", backend)),
                semantics=self._semantics,
                schedule=self._schedule,
                checks=self._checks,
                trace=self._trace,
            )
            coordinator = group_of(strategy).coordinator
            try:
                result = main(strategy)
            except Exception as error:  # noqa: BLE001 - kept for `outcomes`; the other workers continue
                coordinator.disconnect(error)
                return Outcome(None, error)
            coordinator.disconnect()
            return Outcome(result, None)

        return tuple(tasks.run(self.workers, body, fabric.match, _never_fails))


def _never_fails(index: int, error: BaseException, calls: Sequence[Any], order: Sequence[int]) -> None:
    """A worker's task raises only what ends the whole simulation, such as KeyboardInterrupt."""
