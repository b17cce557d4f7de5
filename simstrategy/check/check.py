"""`check`: the same program on several backends, replica counts, workers and schedules."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from typing import Any, Final, NamedTuple

from simstrategy.check.checkers import checker_of
from simstrategy.check.compare import Comparison, Sensitivity, compare, sensitivity
from simstrategy.check.outcome import Outcome, Program, program_folder, program_name, run_program
from simstrategy.check.report import Report, Row
from simstrategy.check.watching import Watched
from simstrategy.device import Backend, Nudged, open_backend
from simstrategy.errors import InvalidArgument
from simstrategy.schedules import InOrder, Schedule
from simstrategy.sim import Cluster
from simstrategy.strategy import Semantics, Strategy
from simstrategy.trace import Trace, first_difference

__all__ = ["check", "run_here"]

_NUDGES: Final = (1, 2, 3)
"""Patterns of `Nudged`: how each input moves, up or down."""

OnRow = Callable[[Row], None]
ScheduleMaker = Callable[[], Schedule]
"""Makes a schedule afresh for every run, since a schedule is used up by one."""


class Settings(NamedTuple):
    """What is the same for all runs of a check."""

    semantics: Semantics
    timeout_s: float
    allow_errors: bool


def check(
    program: Program,
    *,
    backends: Sequence[str] = ("sim",),
    replicas: Sequence[int] = (1, 2),
    workers: Sequence[int] = (),
    schedules: Sequence[ScheduleMaker] = (InOrder,),
    semantics: Semantics = Semantics.TF1_15,
    timeout_s: float = 600.0,
    allow_errors: bool = False,
    on_row: OnRow = lambda row: None,
) -> Report:
    """Runs `program(strategy)` everywhere and compares results, variables, errors and traces.

    program: returns a nest of arrays. backends: by name; the first is the reference, and one that spans
    processes is run with each number of `workers`, one replica each, and compared with the simulated
    cluster instead. schedules: functions that make a schedule, e.g. ``lambda: Seeded(1)``; traces are compared
    under InOrder. timeout_s: for each run in processes of its own. allow_errors: a program that raises is
    a difference, even if it raises the same everywhere, unless this is True. on_row: is told each row as
    it comes.

    The reference is run twice, and has to come to the same, to the bit: what a program changes from run to
    run cannot be compared. Two runs agree if they are equal, or if no leaf differs by more than 5 times
    (`check.compare.MARGIN`) what moving every input by one unit in the last place does to it on the
    reference.

    A program that says, by its parameter's type, that it takes another library's strategy is run by what is
    installed for that library (`check.checkers`), with each number of replicas; the first is the reference.
    """
    if not callable(program):
        raise InvalidArgument(f"check takes a function program(strategy), got {program!r}. Pass the function itself.")
    _require_lists(backends=backends, replicas=replicas, workers=workers, schedules=schedules, semantics=[semantics])
    theirs = checker_of(program)
    if theirs is not None:
        _require_defaults(backends, workers, schedules, semantics)
        return theirs(program, replicas=replicas, allow_errors=allow_errors, on_row=on_row)
    spans = {name: _spans_processes(name) for name in backends}
    together = [name for name in backends if not spans[name]]
    apart = [name for name in backends if spans[name]]
    if apart and not workers:
        raise InvalidArgument(
            f"{', '.join(apart)} runs in several processes: say in how many workers, such as 1 and 2."
        )
    settings = Settings(semantics, timeout_s, allow_errors)
    rows: list[Row] = []
    for count in replicas if together else ():
        _collect(rows, on_row, _check_together(program, together, count, schedules, settings))
    for count in workers:
        _collect(rows, on_row, _check_apart(program, apart, count, schedules, settings))
    return Report(program_name(program), rows)


def _require_lists(**lists: Sequence[object]) -> None:
    """Raises InvalidArgument for what is no list, and for an empty one, which would check nothing."""
    for name, given in lists.items():
        if name == "semantics" and not isinstance(given[0], Semantics):
            raise InvalidArgument(f"semantics is a profile such as Semantics.TF2, got {given[0]!r}.")
        wanted: type | None = {"backends": str, "replicas": int, "workers": int, "semantics": Semantics}.get(name)
        if not isinstance(given, Sequence) or isinstance(given, str):
            raise InvalidArgument(f"{name} is a list, such as {name}=[…], got {given!r}.")
        if not given and name != "workers":
            raise InvalidArgument(f"{name} is empty: nothing would be checked. Name at least one.")
        for one in given:
            if (wanted is None and not callable(one)) or (wanted is not None and not isinstance(one, wanted)):
                kind = "functions that make a schedule" if wanted is None else f"a list of {wanted.__name__}"
                raise InvalidArgument(f"{name} is {kind}, got {one!r} in it.")


def _require_defaults(
    backends: Sequence[str], workers: Sequence[int], schedules: Sequence[ScheduleMaker], semantics: Semantics
) -> None:
    """Raises InvalidArgument for settings that mean nothing to another library's strategy."""
    given = {
        "backends": list(backends) != ["sim"],
        "workers": bool(workers),
        "schedules": list(schedules) != [InOrder],
        "semantics": semantics is not Semantics.TF1_15,
    }
    wrong = [name for name, changed in given.items() if changed]
    if wrong:
        raise InvalidArgument(
            f"The program takes another library's strategy, which has no {' and no '.join(wrong)} to choose: leave "
            f"that out, and say replicas alone. To run on simstrategy's backends, let it take a simstrategy.Strategy."
        )


def _collect(rows: list[Row], on_row: OnRow, new: Iterator[Row]) -> None:
    for row in new:
        rows.append(row)
        on_row(row)


def _spans_processes(name: str) -> bool:
    with closing(open_backend(name)) as backend:
        return backend.capabilities.spans_processes


def _check_together(
    program: Program, names: Sequence[str], replicas: int, schedules: Sequence[ScheduleMaker], settings: Settings
) -> Iterator[Row]:
    run = partial(run_here, program, replicas=replicas, settings=settings)
    reference, again = (run(names[0], InOrder),), (run(names[0], InOrder),)
    one_ulp = [sensitivity(reference[0], [run(names[0], InOrder, nudge=nudge) for nudge in _NUDGES])]
    yield _reference_row(names[0], str(replicas), reference, again, one_ulp, settings)
    for name in names:
        for schedule in schedules:
            if name == names[0] and schedule is InOrder:
                continue
            yield _row(name, str(replicas), schedule(), reference, (run(name, schedule),), one_ulp)


def run_here(
    program: Program,
    name: str,
    schedule: ScheduleMaker,
    *,
    replicas: int,
    settings: Settings | None = None,
    nudge: int | None = None,
) -> Outcome:
    """Runs a program once, in this process; `nudge` is a pattern of `device.Nudged`."""
    semantics = None if settings is None else settings.semantics
    with closing(open_backend(name, replicas=replicas)) as backend:
        trace = Trace(root=program_folder(program))
        watched = Watched(backend, trace) if nudge is None else None
        wrapped: Backend = backend if nudge is None else Nudged(backend, nudge)
        strategy = Strategy.mirrored(watched or wrapped, semantics=semantics, schedule=schedule(), trace=trace)
        with closing(strategy):
            return run_program(program, strategy, trace, watched=watched)


def _check_apart(
    program: Program, names: Sequence[str], workers: int, schedules: Sequence[ScheduleMaker], settings: Settings
) -> Iterator[Row]:
    run = partial(_run_cluster, program, workers=workers, settings=settings)
    label = f"{workers} × 1"
    reference, again = run(InOrder), run(InOrder)
    nudged = list(zip(*[run(InOrder, nudge=nudge) for nudge in _NUDGES], strict=True))
    one_ulp = [sensitivity(one, moved) for one, moved in zip(reference, nudged, strict=True)]
    yield _reference_row("sim", label, reference, again, one_ulp, settings)
    for schedule in schedules:
        if schedule is not InOrder:
            yield _row("sim", label, schedule(), reference, run(schedule), one_ulp)
    # Not at the top: sockets and processes are felt at every start, and few programs need them.
    from simstrategy.check.processes import run_in_processes  # noqa: PLC0415

    for name in names:
        outcomes = run_in_processes(program, name, workers, settings.semantics, settings.timeout_s)
        yield _row(name, label, InOrder(), reference, outcomes, one_ulp)


def _run_cluster(
    program: Program, schedule: ScheduleMaker, *, workers: int, settings: Settings, nudge: int | None = None
) -> tuple[Outcome, ...]:
    trace = Trace(root=program_folder(program))
    watching: dict[int, Watched] = {}

    def wrap(backend: Backend) -> Backend:
        if nudge is not None:
            return Nudged(backend, nudge)
        return watching.setdefault(backend.local_devices[0].process, Watched(backend, trace))

    def main(strategy: Strategy) -> Outcome:
        return run_program(program, strategy, trace, watched=watching.get(strategy.extended.engine.room.worker))

    cluster = Cluster(
        workers,
        1,
        semantics=settings.semantics,
        schedule=schedule(),
        trace=trace,
        wrap=wrap,
    )
    return cluster.run(main)


def _reference_row(
    name: str,
    replicas: str,
    reference: Sequence[Outcome],
    again: Sequence[Outcome],
    one_ulp: Sequence[Sensitivity],
    settings: Settings,
) -> Row:
    """Tells what the others are compared with, and whether it can be."""
    largest = max((unit for worker in one_ulp for leaf in worker for unit in leaf), default=0.0)
    events = sum(len(outcome.events) for outcome in reference)
    problem: str | None = None
    for one, other in zip(reference, again, strict=True):
        found = compare(one, other, tuple((0.0, 0.0) for _ in one.leaves))
        if problem is None and not found.equal_bits:
            problem = f"comes to something else when it is run again, so it cannot be compared: {found.problem}"
    raised = [outcome for outcome in reference if outcome.error is not None]
    if raised and problem is None and not settings.allow_errors:
        kind, text = raised[0].error or ("", "")
        problem = "\n".join([f"raises {kind}: {text}", *raised[0].notes])
    value = _first_not_finite(reference)
    return Row(name, replicas, InOrder.name, True, True, 0.0, largest, events, False, problem, bool(raised), value)


def _row(
    name: str,
    replicas: str,
    schedule: Schedule,
    reference: Sequence[Outcome],
    outcomes: Sequence[Outcome],
    one_ulp: Sequence[Sensitivity],
) -> Row:
    """Compares worker by worker; a run in one process is one worker."""
    in_order = isinstance(schedule, InOrder)
    worst = Comparison(True, 0.0, 0.0, None)
    problem: str | None = None
    for worker, (one, other, units) in enumerate(zip(reference, outcomes, one_ulp, strict=True)):
        found = compare(one, other, units)
        text = found.problem
        difference = first_difference(one.events, other.events) if in_order else None
        if text is None and difference is not None:
            text = f"traces differ at {difference}"
        if problem is None and text is not None:
            problem = f"worker {worker}: {text}" if len(reference) > 1 else text
        worst = _worse(worst, found)
    events = sum(len(outcome.events) for outcome in outcomes)
    return Row(
        name,
        replicas,
        schedule.name,
        False,
        worst.equal_bits,
        worst.distance,
        worst.one_ulp,
        events,
        in_order,
        problem,
        any(outcome.error is not None for outcome in outcomes),
        _first_not_finite(outcomes),
    )


def _first_not_finite(outcomes: Sequence[Outcome]) -> str | None:
    """Returns the first worker's first value that is not finite; all of a cluster's workers say who they are."""
    for worker, outcome in enumerate(outcomes):
        if outcome.not_finite is not None:
            return f"worker {worker}: {outcome.not_finite}" if len(outcomes) > 1 else outcome.not_finite
    return None


def _worse(one: Comparison, other: Comparison) -> Comparison:
    larger: Any = max(one, other, key=lambda c: (c.problem is not None, c.distance / c.one_ulp if c.one_ulp else 0.0))
    return Comparison(one.equal_bits and other.equal_bits, larger.distance, larger.one_ulp, larger.problem)
