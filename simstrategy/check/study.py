"""A study of one program: what it is run with, and its runs, which the laws share.

A law requests runs (`Study.run`) and what is known of the reference backend at a number of replicas
(`Study.measured`): each is made once.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing
from functools import partial
from typing import Any, NamedTuple, final

from simstrategy.check.across import Side
from simstrategy.check.causes import Cause
from simstrategy.check.causes.running import explain_difference
from simstrategy.check.compare import NUDGES, Sensitivity, compare, exactly, paths, sensitivity
from simstrategy.check.folder import same_folder
from simstrategy.check.meaning import meaning_of
from simstrategy.check.openings import LINEAR, Openings, open_ordered
from simstrategy.check.outcome import Outcome, Program, Watch, program_folder, run_program
from simstrategy.check.probe import GroupCallProbe
from simstrategy.device import Backend, UlpPerturbed
from simstrategy.errors import InvalidArgument
from simstrategy.schedules import Every, InOrder, Schedule
from simstrategy.sim import ORDERS
from simstrategy.strategy import Semantics, Strategy
from simstrategy.trace import AnyTrace, Recorder, Recording, Trace

__all__ = ["Measured", "Nudge", "ScheduleMaker", "Settings", "Study", "nudged", "run_on"]

ScheduleMaker = Callable[[], Schedule]
"""Makes a new schedule for every run, since a run uses its schedule up."""


class Nudge(NamedTuple):
    """How a run is nudged.  pattern: of `UlpPerturbed`. functions: whether the results of functions move as well."""

    pattern: int
    functions: bool


class Settings(NamedTuple):
    """The settings that all runs of a check share."""

    semantics: Semantics
    timeout_s: float
    allow_errors: bool
    exempt: Mapping[str, str] = {}
    """Names of values that the laws do not compare, each with its reason."""
    vary: Mapping[str, Sequence[Any]] = {}
    """Arguments of the program, and the values of each; the first of each is given in all other runs."""
    asked: Collection[str] = ()
    """The names of the laws that were asked for by name: where such a law cannot judge, nothing is judged."""
    order: str = LINEAR
    """Of the simulator's additions, in all runs of which a law does not choose another one."""


class Measured(NamedTuple):
    """What is known of a program on the reference backend at one number of replicas.

    first, again: two identical runs, the second one recorded. nudged: runs whose inputs were moved by one ulp. one_ulp:
    how far they move.
    """

    first: Outcome
    again: Outcome
    recording: Recording
    nudged: tuple[Outcome, ...]
    one_ulp: Sensitivity

    @property
    def repeatable(self) -> bool:
        """Whether both runs gave the same bits."""
        return compare(self.first, self.again, exactly(self.first)).equal_bits

    def side(self, replicas: int, lists: frozenset[str] = frozenset()) -> Side:
        """Returns the run as a side of a comparison.  lists: the paths of lists that have an item for each replica."""
        moved = [meaning_of(one, lists) for one in self.nudged]
        return Side(replicas, meaning_of(self.first, lists), moved, self.first)


@final
class Study:
    """A program, its settings, and its runs.  close() closes the backends that no run has taken.

    replicas: numbers of replicas, in one process. schedules: functions that make a schedule. workers: numbers of
    processes. Raises InvalidArgument for a backend that spans processes without numbers of workers.
    """

    def __init__(
        self,
        program: Program,
        backends: Sequence[str],
        replicas: Sequence[int],
        workers: Sequence[int],
        schedules: Sequence[ScheduleMaker | Every],
        settings: Settings,
    ) -> None:
        self.program = program
        self.replicas = tuple(dict.fromkeys(replicas))
        self.workers = tuple(dict.fromkeys(workers))
        self.schedules = tuple(schedules)
        self.settings = settings
        self.openings = Openings(backends, replicas[0], settings.order)
        if self.openings.in_workers and not workers:
            self.openings.close()
            raise InvalidArgument(
                f"{', '.join(self.openings.in_workers)} runs in several processes: give the numbers of workers, such "
                f"as 1 and 2."
            )
        self.notes: list[str] = []
        """What is worth knowing and breaks no law, as sentences: laws add to it."""
        self._measured: dict[int, Measured] = {}

    @property
    def has_reference(self) -> bool:
        """Whether a backend has all its replicas in this process."""
        return bool(self.openings.in_process)

    @property
    def reference(self) -> str:
        """The first backend whose replicas are all in this process."""
        return self.openings.in_process[0]

    @property
    def orders(self) -> tuple[str, ...]:
        """The orders of additions, other than that of all runs, that the reference can be opened with."""
        simulated = self.reference in self.openings.simulated
        return tuple(name for name in ORDERS if simulated and name != self.settings.order)

    def close(self) -> None:
        self.openings.close()

    @property
    def label(self) -> str:
        """The name of the first backend, for rows without a run."""
        return self.openings.names[0]

    def made(self) -> tuple[Measured, ...]:
        """Returns what has been measured on the reference backend so far."""
        return tuple(self._measured.values())

    def ran_twice(self, replicas: int) -> bool:
        """Returns True: every number of replicas runs twice."""
        return True

    def reseeded(self, replicas: int) -> Outcome:
        """Runs the program on the reference backend with another seed."""
        return self.run(self.reference, replicas, seed=1)

    def explain(self, counts: tuple[int, int]) -> Cause:
        """Runs the program with both numbers of replicas, and returns the cause of the difference."""
        program, semantics = self.program_with({}), self.settings.semantics
        return explain_difference(program, counts, backend=self.reference, semantics=semantics)

    def run(
        self,
        name: str,
        replicas: int,
        schedule: ScheduleMaker = InOrder,
        *,
        nudge: Nudge | None = None,
        seed: int = 0,
        order: str | None = None,
        arguments: Mapping[str, Any] | None = None,
        watch: Watch | None = None,
        isolate: bool = False,
        trace: AnyTrace | None = None,
    ) -> Outcome:
        """Runs the program once.

        seed: of the strategy, from which replicas draw seeds of their own. order: of the simulator's additions, in
        place of the setting. arguments: of the program, in place of the first values of `vary`. watch: see
        `run_program`. isolate: whether each replica has global random generators of its own. trace: in place of a plain
        one.
        """
        opened = self.openings.take(name, replicas) if order is None else open_ordered(name, replicas, order)
        program = self.program_with(arguments or {})
        semantics = self.settings.semantics
        return run_on(opened, program, schedule, semantics, nudge, seed=seed, watch=watch, isolate=isolate, trace=trace)

    def program_with(self, arguments: Mapping[str, Any]) -> Program:
        """Returns the program as a function of its strategy: with the first values of `vary`, and with arguments."""
        given = {name: values[0] for name, values in self.settings.vary.items()} | {**arguments}
        return partial(self.program, **given) if given else self.program

    def measured(self, replicas: int) -> Measured:
        """Returns what is known of the program on the reference backend; runs it at the first call."""
        found = self._measured.get(replicas)
        if found is None:
            name = self.openings.in_process[0]
            recorder = Recorder(root=program_folder(self.program), whole_bytes=0)
            first, again = self.run(name, replicas), self.run(name, replicas, trace=recorder)
            moved = tuple(
                nudged((first,), lambda nudge: (self.run(name, replicas, nudge=nudge),), pattern)[0]
                for pattern in NUDGES
            )
            found = self._measured[replicas] = Measured(
                first, again, recorder.recording(), moved, sensitivity(first, moved)
            )
        return found


def nudged(
    reference: Sequence[Outcome], run: Callable[[Nudge], tuple[Outcome, ...]], pattern: int
) -> tuple[Outcome, ...]:
    """Returns a run whose inputs and functions are nudged; only its inputs, if the program takes another way then."""
    found = run(Nudge(pattern, functions=True))
    alike = [
        one.error == other.error and paths(one) == paths(other) for one, other in zip(reference, found, strict=True)
    ]
    return found if all(alike) else run(Nudge(pattern, functions=False))


def run_on(
    opened: Backend,
    program: Program,
    schedule: ScheduleMaker,
    semantics: Semantics | None,
    nudge: Nudge | None = None,
    *,
    seed: int = 0,
    watch: Watch | None = None,
    isolate: bool = False,
    trace: AnyTrace | None = None,
) -> Outcome:
    """Runs a program once on an open backend, and closes it."""
    with same_folder(), closing(opened) as backend:
        trace = Trace(root=program_folder(program)) if trace is None else trace
        probe = GroupCallProbe(backend, trace) if nudge is None else None
        wrapped: Any = backend if nudge is None else UlpPerturbed(backend, nudge.pattern, functions=nudge.functions)
        strategy = Strategy.mirrored(
            probe or wrapped,
            semantics=semantics,
            schedule=schedule(),
            trace=trace,
            checks="paths",
            seed=seed,
            isolate=isolate,
        )
        with closing(strategy):
            return run_program(program, strategy, trace, probe=probe, watch=watch)
