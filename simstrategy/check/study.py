"""A study of one program: what it is run with, and its runs, which the laws share.

A law requests runs (`Study.run`) and what is known of the reference backend at a number of replicas
(`Study.measured`): each is made once.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from typing import Any, Final, NamedTuple, final

from simstrategy.check.causes.facts import Cause
from simstrategy.check.causes.running import explain_difference
from simstrategy.check.compare import NUDGES, paths, sensitivity
from simstrategy.check.folder import same_folder
from simstrategy.check.left_over import LeftOver
from simstrategy.check.openings import Openings, open_ordered
from simstrategy.check.outcome import Outcome, Program, Watch, program_folder, run_program, source_of
from simstrategy.check.prints import recorded_prints
from simstrategy.check.probe import GroupCallProbe
from simstrategy.check.runs import Measured, Settings, seeds_drawn
from simstrategy.check.shown import Way
from simstrategy.device import Backend, UlpPerturbed
from simstrategy.errors import InvalidArgument
from simstrategy.schedules import Every, InOrder, Schedule, Seeded
from simstrategy.sim import ORDERS
from simstrategy.strategy import Semantics, Strategy
from simstrategy.trace import AnyTrace, Recorder, Recording, Trace

__all__ = ["Nudge", "ScheduleMaker", "Study", "nudged", "recorded_again", "run_on"]

_SEEDS: Final = (1, 2)
"""Of the schedules that run the replicas in other orders."""
_ADDED: Final = {"linear": "added in rank order", "ring": "added as a ring", "tree": "added as a tree"}

ScheduleMaker = Callable[[], Schedule]
"""Makes a new schedule for every run, since a run uses its schedule up."""


class Nudge(NamedTuple):
    """How a run is nudged.  pattern: of `UlpPerturbed`. functions: whether the results of functions move as well."""

    pattern: int
    functions: bool


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
        self._recordings: dict[int, Recording] = {}

    @property
    def has_reference(self) -> bool:
        """Whether a backend has all its replicas in this process."""
        return bool(self.openings.in_process)

    @property
    def reference(self) -> str:
        """The first backend whose replicas are all in this process; without one the first."""
        return (*self.openings.in_process, *self.openings.names)[0]

    @property
    def schedule(self) -> str:
        """The order in which replicas run unless another one is given."""
        return InOrder.name

    def close(self) -> None:
        self.openings.close()
        self._measured.clear()
        self._recordings.clear()

    def made(self) -> Mapping[int, Measured]:
        """Returns what has been measured on the reference backend so far."""
        return self._measured

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
        compiles: bool = False,
    ) -> Outcome:
        """Runs the program once.

        seed: of the strategy, from which replicas draw seeds of their own. order: of the simulator's additions, in
        place of the setting. compiles: whether a simulator compiles steps. arguments: of the program, in place of the
        first values of `vary`. watch: see `run_program`. isolate: whether each replica has global random generators of
        its own. trace: in place of a plain one.
        """
        if compiles and name in self.openings.simulated:
            opened = open_ordered(name, replicas, self.openings.order_of(name), stacked=True)
        else:
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
            self._recordings[replicas] = recorder.recording()
            found = self._measured[replicas] = Measured(first, again, moved, sensitivity(first, moved))
        return found

    def recorded(self, replicas: int) -> Recording:
        """Returns the recording of the second of the identical runs of `measured`."""
        self.measured(replicas)
        return self._recordings[replicas]

    def run_with(self, replicas: int, arguments: Mapping[str, Any]) -> Outcome:
        """Runs the program once on the reference backend, with arguments in place of the first values of `vary`."""
        return self.run(self.reference, replicas, arguments=arguments)

    def drawn_from(self, counts: tuple[int, int]) -> tuple[str, ...]:
        return seeds_drawn(self._measured, counts)

    def reseeded(self, replicas: int) -> Outcome:
        """Runs the program once on the reference backend, with another seed of the strategy."""
        return self.run(self.reference, replicas, seed=1)

    def with_moved_sums(self, counts: tuple[int, int]) -> None:
        """Returns None: every nudged run of a strategy moves sums."""

    def left_over(self, counts: tuple[int, int], arguments: Mapping[str, Any], paths: Collection[str]) -> LeftOver:
        """Returns nothing: the gradients of parameters are not known here."""
        return {}

    def reordered(self, replicas: int) -> Iterator[tuple[Way, Outcome]]:
        """Yields runs on the reference backend in other orders of additions and of replicas, with their ways.

        Orders of additions are the simulator's: another backend has none to choose.
        """
        simulated = self.reference in self.openings.simulated
        for name in ORDERS:
            if simulated and name != self.settings.order:
                yield Way(_ADDED[name], replicas, order=name), self.run(self.reference, replicas, order=name)
        for seed in _SEEDS:
            schedule = partial(Seeded, seed)
            way = Way(f"Seeded({seed})", replicas, schedule=schedule)
            yield way, self.run(self.reference, replicas, schedule)

    def explain(self, counts: tuple[int, int], arguments: Mapping[str, Any]) -> Cause | None:
        """Returns why two runs differ, for which the program runs again; None for other arguments."""
        if arguments:
            return None
        program, semantics = self.program_with({}), self.settings.semantics
        return explain_difference(program, counts, backend=self.reference, semantics=semantics)


def recorded_again(study: Study, way: Way) -> Recording:
    """Runs the program of a study once more, with what it prints, and returns the recording; also after `close`."""
    name = way.backend or study.reference
    recorder = Recorder(root=program_folder(study.program))
    recorder.describe(source=source_of(study.program))
    if name in study.openings.simulated:
        recorder.describe(order=way.order or study.settings.order)
    with recorded_prints(recorder):
        given = dict(way.arguments)
        study.run(name, way.replicas, way.schedule, order=way.order, arguments=given, trace=recorder)
    recorder.close()
    return recorder.recording()


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
