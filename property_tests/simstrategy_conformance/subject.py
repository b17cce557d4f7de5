"""The subject of an examination: a backend that is opened again and again, and strategies on it.

The one place of the kit that opens backends. The simulator is a subject like any other, opened by name, with two
differences: it alone simulates clusters, and it is not compared with itself.
"""

from collections.abc import Callable
from typing import Any, Final, Literal, final

import pytest

import simstrategy as ss
from simstrategy.device import Backend
from simstrategy.schedules import InOrder, Schedule
from simstrategy_conformance.observe import Observed, observe
from simstrategy_conformance.profiles import PROFILES, Profile
from simstrategy_conformance.program import Program
from simstrategy_conformance.script import function_of

__all__ = ["MakeStrategy", "ShrinkableSchedule", "Subject", "me"]

Open = Callable[..., Backend]
_DEFAULT_DTYPES: Final = ("float32", "int32", "bool")
MakeStrategy = Callable[..., Any]
"""Makes a strategy from an opened backend and settings, as `Strategy.mirrored` does."""


def me() -> ss.ReplicaContext:
    """Returns the running replica's context."""
    context = ss.get_replica_context()
    assert context is not None, "no replica runs here"
    return context


@final
class ShrinkableSchedule:
    """A schedule of given draws, and the first option after the last; so that a shorter one is a simpler one."""

    __slots__ = ("_draws", "_next", "taken")

    def __init__(self, draws: tuple[int, ...]) -> None:
        self._draws = draws
        self._next = 0
        self.taken: list[tuple[str, int, int]] = []

    @property
    def name(self) -> str:
        return f"Replayed({self.taken!r})"

    def choose(self, label: str, n: int) -> int:
        taken = self._draws[self._next] % n if self._next < len(self._draws) else 0
        self._next += 1
        self.taken.append((label, n, taken))
        return taken


@final
class Subject:
    """A backend by name, or a factory of one, under a profile and a seed.

    open_backend: a factory like the registry's, ``open(*, replicas)``. strategy: makes the strategies to examine, so
    that a strategy of another project can be examined.
    """

    def __init__(
        self,
        name: str,
        *,
        open_backend: Open | None = None,
        strategy: MakeStrategy = ss.Strategy.mirrored,
        profile: Profile = PROFILES["default"],
        seed: int = 0,
    ) -> None:
        self.name = name
        self.profile = profile
        self.seed = seed
        self._open: Open = open_backend or (lambda **options: ss.backend(name, **options))
        self._make = strategy
        self._opened: dict[int, Backend] = {}
        self._simulator: Subject | None = None
        self._is_registered = open_backend is None

    @property
    def is_simulator(self) -> bool:
        """Whether this is the registered simulator, without wrappers: the reference of every other subject."""
        return self._is_registered and isinstance(self.open(1), ss.sim.SimBackend)

    def open(self, replicas: int) -> Backend:
        """Returns a backend of so many replicas: the same one for the same number."""
        if replicas not in self._opened:
            self._opened[replicas] = self.fresh(replicas)
        return self._opened[replicas]

    def can_open(self, replicas: int) -> bool:
        """Returns whether there are devices for so many replicas."""
        try:
            self.open(replicas)
        except pytest.skip.Exception:
            return False
        return True

    def fresh(self, replicas: Any) -> Backend:
        """Opens a backend; skips the test where there are too few devices for it.

        Raises InvalidArgument where a dtype is missing that results have by default.
        """
        try:
            found = self._open(replicas=replicas)
        except ss.errors.BackendUnavailable as error:
            pytest.skip(str(error))
        missing = [one for one in _DEFAULT_DTYPES if one not in found.capabilities.dtypes]
        if missing:
            found.close()
            raise ss.errors.InvalidArgument(
                f"{self.name} has no {', no '.join(missing)} among its capabilities.dtypes. Every backend needs "
                f"{', '.join(_DEFAULT_DTYPES)}: results have them by default (B-18), so nothing was examined."
            )
        return found

    def reopen(self, replicas: int) -> None:
        """Closes the backend of so many replicas, and opens another one in its place."""
        if replicas in self._opened:
            self._opened.pop(replicas).close()
        self.open(replicas)

    def close(self) -> None:
        """Closes every backend that was opened."""
        while self._opened:
            self._opened.popitem()[1].close()
        if self._simulator is not None:
            self._simulator.close()

    @property
    def dtypes(self) -> frozenset[str]:
        """The dtypes of the backend's capabilities."""
        return self.open(1).capabilities.dtypes

    def having(self, *wanted: str) -> tuple[str, ...]:
        """Returns those of some dtypes that the backend claims to hold; skips the test if there are none."""
        found = tuple(one for one in wanted if one in self.dtypes)
        if not found:
            pytest.skip(f"{self.name} holds none of {', '.join(wanted)}")
        return found

    def strategy(self, replicas: int, **settings: Any) -> Any:
        """Returns a strategy of its own on the backend of so many replicas."""
        return self._make(self.open(replicas), **settings)

    def simulator(self) -> "Subject":
        """Returns the simulator, as a subject beside this one."""
        if self._simulator is None:
            self._simulator = Subject("sim", profile=self.profile, seed=self.seed)
        return self._simulator

    def observe(
        self, program: Program, *, executor: Literal["auto", "greenlet", "thread"] = "auto"
    ) -> tuple[Observed, ShrinkableSchedule | None]:
        """Runs a program; returns what was observed, and the schedule with its draws, None for InOrder."""
        function, _ = function_of(program)
        trace = ss.trace.Trace(root="")
        drawn = ShrinkableSchedule(program.draws) if program.draws else None
        schedule: Schedule = InOrder() if drawn is None else drawn
        semantics = ss.Semantics.TF2 if program.profile == "TF2" else ss.Semantics.TF1_15
        if program.workers > 1:
            cluster = ss.sim.Cluster(
                program.workers, program.replicas, semantics=semantics, schedule=schedule, trace=trace
            )
            return observe(lambda made: made.run(function), cluster, self.open(1), trace), drawn
        made = self.strategy(program.replicas, semantics=semantics, schedule=schedule, trace=trace, executor=executor)
        try:
            return observe(function, made, self.open(program.replicas), trace), drawn
        finally:
            made.close()
