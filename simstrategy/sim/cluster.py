"""Clusters in one process: several workers, each with its own program, strategy and replicas.

This is the only module of the simulator that imports strategies.
"""

from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any, Final, Literal, NamedTuple, TypeVar, cast, final

from simstrategy.device import GLOBAL_GENERATORS, Backend, GlobalGenerator, open_backend
from simstrategy.errors import InvalidArgument, InvalidType, PeerFailed
from simstrategy.run import WAIT_LIMIT_S, Isolation, ReplicaTasks, SuspendTask
from simstrategy.schedules import InOrder, Schedule
from simstrategy.short_repr import short_repr
from simstrategy.sim.backend import Link, SimBackend, simulated_devices
from simstrategy.sim.fabric import Fabric
from simstrategy.sim.linked import LinkedBackend
from simstrategy.strategy import Semantics, Strategy, group_of
from simstrategy.trace import AnyTrace, Recorder

__all__ = ["Cluster", "Outcome"]

_SIMULATOR: Final = "sim"

P = TypeVar("P")
"""What one worker contributes to a group-call."""
T = TypeVar("T")
"""What is made of all contributions."""


class Outcome(NamedTuple):
    """How the program of one worker ended: with a result, or with an error; the other one is None."""

    result: Any
    error: Exception | None


@final
class Cluster:
    """Simulates `workers` processes with `replicas_per_worker` replicas each; replica ids are global.

    backend: the simulator, or another backend whose replicas all run in this process, for programs that compute with
    its framework: a name. order: of the simulator's additions, as in `ss.backend("sim", order=…)`. wrap: a function
    that wraps the backend of each worker. isolate: True to give each worker global random generators of its own, as a
    process has; they begin as copies of this process's, which then goes on as worker 0's. wait_limit_s: seconds, also
    for a worker that waits for another one outside of collectives. The other arguments are those of
    `Strategy.multi_worker`, for every worker. Raises InvalidArgument for counts below 1 and for a backend that
    cannot be shared out, and what `Strategy.multi_worker` raises for a setting.

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
        trace: AnyTrace | None = None,
        order: str = "linear",
        wrap: Callable[[Backend], Backend] = lambda backend: backend,
        backend: str = _SIMULATOR,
        isolate: bool = False,
        wait_limit_s: float | None = WAIT_LIMIT_S,
    ) -> None:
        for name, count in (("workers", workers), ("replicas_per_worker", replicas_per_worker)):
            if not isinstance(count, int) or isinstance(count, bool) or count < 1:
                raise InvalidArgument(
                    f"A cluster takes {name} of at least 1, got {short_repr(count)}. Pass an int, for example 2."
                )
        if not callable(wrap):
            raise InvalidType(f"wrap is a function of a backend that returns one, got {wrap!r}. Pass a function.")
        if not isinstance(backend, str):
            raise InvalidType(f'backend is a name, got {short_repr(backend)}. Pass one, such as "torch".')
        # Examines the settings that every worker gets, before any of them runs.
        alone = SimBackend(simulated_devices(1, 1), worker=0, order=order)
        Strategy.multi_worker(
            cast("Backend", alone),
            semantics=semantics,
            schedule=schedule,
            checks=checks,
            trace=None if isinstance(trace, Recorder) else trace,
            isolate=isolate,
            wait_limit_s=wait_limit_s,
        ).close()
        if backend != _SIMULATOR:
            _require_shareable(backend, workers * replicas_per_worker, order)
        self.workers = workers
        self.replicas_per_worker = replicas_per_worker
        self._semantics = semantics
        chosen = InOrder() if schedule is None else schedule
        self._schedule = _recorded(chosen, trace, order) if isinstance(trace, Recorder) else chosen
        self._checks: bool | Literal["paths", "strict"] = checks
        self._trace = trace
        self._order = order
        self._wrap = wrap
        self._backend = backend
        self._isolate = isolate
        self._wait_limit_s = wait_limit_s

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
        devices = simulated_devices(self.workers, self.replicas_per_worker)
        if self._backend == _SIMULATOR:
            return self._run(
                main,
                "greenlet",
                (),
                lambda worker, link: SimBackend(devices, worker=worker, order=self._order, link=link),
            )
        with closing(_open_whole(self._backend, len(devices))) as whole:
            return self._run(
                main,
                whole.capabilities.executor,
                whole.capabilities.generators,
                lambda worker, link: LinkedBackend(whole, worker, self.workers, link or _alone),
            )

    def _run(
        self,
        main: Callable[[Strategy], Any],
        executor: Literal["greenlet", "thread"],
        generators: Sequence[GlobalGenerator],
        backend_of: Callable[[int, Link | None], SimBackend | LinkedBackend],
    ) -> tuple[Outcome, ...]:
        fabric = Fabric(self.workers)
        tasks = ReplicaTasks(executor, self._schedule, wait_limit_s=self._wait_limit_s, name="worker {}".format)

        def body(worker: int, suspend: SuspendTask) -> Outcome:
            link = fabric.link(suspend) if self.workers > 1 else None
            strategy = Strategy.multi_worker(
                # A backend gets back its own arrays alone: for the core they are opaque.
                self._wrap(cast("Backend", backend_of(worker, link))),
                semantics=self._semantics,
                schedule=self._schedule,
                checks=self._checks,
                trace=self._trace,
                wait_limit_s=self._wait_limit_s,
            )
            coordinator = group_of(strategy).coordinator
            try:
                result = main(strategy)
            except Exception as error:  # noqa: BLE001 - kept for `outcomes`; the other workers continue
                coordinator.disconnect(error)
                return Outcome(None, error)
            coordinator.disconnect()
            return Outcome(result, None)

        with closing(tasks):
            if not self._isolate:
                return tuple(tasks.run(self.workers, body, fabric.match, _never_fails))
            isolation = Isolation((*GLOBAL_GENERATORS, *generators), self.workers)
            return tuple(isolation.run(tasks, body, fabric.match, _never_fails))


def _require_shareable(name: str, replicas: int, order: str) -> None:
    """Raises InvalidArgument for a backend whose devices workers cannot share, and for an order of additions."""
    if order != "linear":
        raise InvalidArgument(
            f"order is of the simulator's additions, and the backend is {short_repr(name)}. Leave it out."
        )
    _open_whole(name, replicas).close()


def _open_whole(name: str, replicas: int) -> Backend:
    """Opens the backend whose devices the workers share out.  Raises InvalidArgument where that is impossible."""
    backend = open_backend(name, replicas=replicas)
    reason = "spans processes itself" if backend.capabilities.spans_processes else None
    if backend.frontend is not None:
        reason = "has variables of its framework, which are one process's"
    if len(backend.devices) != replicas:
        reason = f"has opened {len(backend.devices)} devices for {replicas} replicas"
    if reason is not None:
        backend.close()
        raise InvalidArgument(
            f"A cluster in one process shares out the devices of a backend, and {name!r} {reason}. Leave backend out "
            f"for the simulator, or start processes, as simstrategy.launch does."
        )
    return backend


def _alone(name: str, part: P, combine: Callable[[list[P]], T]) -> T:
    """The link of one worker: its part is all there is."""
    return combine([part])


def _recorded(schedule: Schedule, recorder: Recorder, order: str) -> Schedule:
    """Returns a schedule whose draws are recorded; adds the order of additions to the recording's header."""
    recorder.describe(order=order)
    return schedule if type(schedule) is InOrder else recorder.watched(schedule)


def _never_fails(index: int, error: BaseException, calls: Sequence[Any], order: Sequence[int]) -> None:
    """A worker's task raises only what ends the whole simulation, such as KeyboardInterrupt."""
