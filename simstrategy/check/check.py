"""`check`: the same program on several backends, replica counts, workers and schedules."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from typing import Final, NamedTuple

from simstrategy.check.checkers import checker_of
from simstrategy.check.compare import paths, sensitivity
from simstrategy.check.openings import Openings
from simstrategy.check.outcome import Outcome, Program, program_folder, program_name, run_program
from simstrategy.check.probe import GroupCallProbe
from simstrategy.check.report import Report, Row
from simstrategy.check.rows import reference_row, run_row
from simstrategy.device import Backend, UlpPerturbed, open_backend
from simstrategy.errors import InvalidArgument
from simstrategy.schedules import InOrder, Schedule
from simstrategy.short_repr import short_repr
from simstrategy.sim import Cluster
from simstrategy.strategy import Semantics, Strategy, group_of
from simstrategy.trace import Trace

__all__ = ["check", "run_here"]

_BACKENDS: Final = ("sim",)
"""The default of `check`."""

_NUDGES: Final = (1, 2, 3)
"""Patterns of `UlpPerturbed`: which inputs move up and which move down."""

OnRow = Callable[[Row], None]
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


def check(
    program: Program,
    *,
    backends: Sequence[str] = _BACKENDS,
    replicas: Sequence[int] = (1, 2),
    workers: Sequence[int] = (),
    schedules: Sequence[ScheduleMaker] = (InOrder,),
    semantics: Semantics = Semantics.TF1_15,
    timeout_s: float = 600.0,
    allow_errors: bool = False,
    on_row: OnRow = lambda row: None,
) -> Report:
    """Runs `program(strategy)` with all settings and compares results, variables, errors and traces.

    program: returns a nest of arrays. backends: by name; the first is the reference. A backend that spans processes
    runs with each number of `workers`, one replica each, and is compared with the simulated cluster. schedules:
    functions that make a schedule, e.g. ``lambda: Seeded(1)``; traces are compared under InOrder. timeout_s: the limit
    in seconds of each run in worker processes. allow_errors: unless True, a program that raises is a difference, even
    if it raises the same everywhere. on_row: receives each row when it is ready.

    The reference runs twice and must give the same bits both times: values that change from run to run cannot be
    compared. What may differ because of rounding, and what cannot be judged, is stated in clauses J-1 to J-7.

    A program whose parameter has the type of another library's strategy is run by the checker that is installed for
    that library (`check.checkers`), with each number of replicas; the first is the reference.

    Raises InvalidArgument for settings that cannot be run, and what opening a backend raises.
    """
    if not callable(program):
        raise InvalidArgument(f"check takes a function program(strategy), got {short_repr(program)}. Pass one.")
    _require_lists(backends=backends, replicas=replicas, workers=workers, schedules=schedules, semantics=[semantics])
    _require_settings(timeout_s, allow_errors, on_row)
    external_checker = checker_of(program)
    if external_checker is not None:
        _require_defaults(backends, workers, schedules, semantics)
        return external_checker(program, replicas=replicas, allow_errors=allow_errors, on_row=on_row)
    settings = Settings(semantics, timeout_s, allow_errors)
    rows: list[Row] = []
    with closing(Openings(backends, replicas[0])) as openings:
        in_workers = openings.in_workers
        if in_workers and not workers:
            raise InvalidArgument(
                f"{', '.join(in_workers)} runs in several processes: give the numbers of workers, such as 1 and 2."
            )
        for count in replicas if openings.in_process else ():
            _collect(rows, on_row, _check_in_process(program, openings, count, schedules, settings))
    for count in workers:
        _collect(rows, on_row, _check_in_workers(program, in_workers, count, schedules, settings))
    return Report(program_name(program), rows)


def _require_lists(**lists: Sequence[object]) -> None:
    """Raises InvalidArgument for a setting that is not a list of the right type, and for an empty list."""
    for name, given in lists.items():
        if name == "semantics" and not isinstance(given[0], Semantics):
            raise InvalidArgument(f"semantics is a profile such as Semantics.TF2, got {short_repr(given[0])}.")
        wanted: type | None = {"backends": str, "replicas": int, "workers": int, "semantics": Semantics}.get(name)
        if not isinstance(given, Sequence) or isinstance(given, str):
            raise InvalidArgument(f"{name} is a list, such as {name}=[…], got {short_repr(given)}.")
        if not given and name != "workers":
            raise InvalidArgument(f"{name} is empty: nothing would be checked. Name at least one.")
        for one in given:
            if (wanted is None and not callable(one)) or (wanted is not None and not isinstance(one, wanted)):
                kind = "functions that make a schedule" if wanted is None else f"a list of {wanted.__name__}"
                raise InvalidArgument(f"{name} is {kind}, got {short_repr(one)} in it.")


def _require_settings(timeout_s: float, allow_errors: bool, on_row: OnRow) -> None:
    """Raises InvalidArgument for a time limit that is no number above 0, no bool and no function.

    What is given may have any type.
    """
    seconds: object = timeout_s
    if not isinstance(seconds, (int, float)) or isinstance(seconds, bool) or not seconds > 0:
        raise InvalidArgument(
            f"timeout_s is a number of seconds above 0, got {short_repr(seconds)}. Pass for example 60.0."
        )
    if not isinstance(allow_errors, bool):
        raise InvalidArgument(f"allow_errors is True or False, got {short_repr(allow_errors)}. Pass one of these.")
    if not callable(on_row):
        raise InvalidArgument(
            f"on_row is a function that takes a Row, got {short_repr(on_row)}. Pass a function, or leave it out."
        )


def _require_defaults(
    backends: Sequence[str], workers: Sequence[int], schedules: Sequence[ScheduleMaker], semantics: Semantics
) -> None:
    """Raises InvalidArgument for settings that another library's strategy does not have."""
    given = {
        "backends": tuple(backends) != _BACKENDS,
        "workers": bool(workers),
        "schedules": list(schedules) != [InOrder],
        "semantics": semantics is not Semantics.TF1_15,
    }
    wrong = [name for name, changed in given.items() if changed]
    if wrong:
        raise InvalidArgument(
            f"The program takes another library's strategy, which has no {' and no '.join(wrong)} to choose: leave "
            f"that out, and give replicas only. To run on simstrategy's backends, let it take a simstrategy.Strategy."
        )


def _collect(rows: list[Row], on_row: OnRow, new: Iterator[Row]) -> None:
    for row in new:
        rows.append(row)
        on_row(row)


def _check_in_process(
    program: Program, openings: Openings, replicas: int, schedules: Sequence[ScheduleMaker], settings: Settings
) -> Iterator[Row]:
    names, label = openings.in_process, str(replicas)

    def run(name: str, schedule: ScheduleMaker, nudge: Nudge | None = None) -> Outcome:
        return run_on(openings.take(name, replicas), program, schedule, settings.semantics, nudge)

    reference, again = (run(names[0], InOrder),), (run(names[0], InOrder),)
    nudged = [_nudged(reference, lambda nudge: (run(names[0], InOrder, nudge),), pattern) for pattern in _NUDGES]
    one_ulp = [sensitivity(reference[0], [one for (one,) in nudged])]
    yield reference_row(names[0], label, reference, again, one_ulp, allow_errors=settings.allow_errors)
    for name in names:
        for schedule in schedules:
            if name == names[0] and schedule is InOrder:
                continue
            yield run_row(name, label, schedule(), reference, (run(name, schedule),), one_ulp)


def _nudged(
    reference: Sequence[Outcome], run: Callable[[Nudge], tuple[Outcome, ...]], pattern: int
) -> tuple[Outcome, ...]:
    """Returns a run whose inputs and functions are nudged; only its inputs, if the program takes another way then."""
    found = run(Nudge(pattern, functions=True))
    alike = [
        one.error == other.error and paths(one) == paths(other) for one, other in zip(reference, found, strict=True)
    ]
    return found if all(alike) else run(Nudge(pattern, functions=False))


def run_here(
    program: Program, name: str, schedule: ScheduleMaker, *, replicas: int, nudge: int | None = None
) -> Outcome:
    """Opens a backend by name and runs a program on it once here.  nudge: a pattern of `device.UlpPerturbed`."""
    pattern = None if nudge is None else Nudge(nudge, functions=True)
    return run_on(open_backend(name, replicas=replicas), program, schedule, None, pattern)


def run_on(
    opened: Backend, program: Program, schedule: ScheduleMaker, semantics: Semantics | None, nudge: Nudge | None = None
) -> Outcome:
    """Runs a program once on an open backend, and closes it."""
    with closing(opened) as backend:
        trace = Trace(root=program_folder(program))
        probe = GroupCallProbe(backend, trace) if nudge is None else None
        wrapped: Backend = backend if nudge is None else UlpPerturbed(backend, nudge.pattern, functions=nudge.functions)
        strategy = Strategy.mirrored(
            probe or wrapped, semantics=semantics, schedule=schedule(), trace=trace, checks="paths"
        )
        with closing(strategy):
            return run_program(program, strategy, trace, probe=probe)


def _check_in_workers(
    program: Program, names: Sequence[str], workers: int, schedules: Sequence[ScheduleMaker], settings: Settings
) -> Iterator[Row]:
    run = partial(_run_cluster, program, workers=workers, settings=settings)
    label = f"{workers} × 1"
    reference, again = run(InOrder), run(InOrder)
    runs = [_nudged(reference, lambda nudge: run(InOrder, nudge=nudge), pattern) for pattern in _NUDGES]
    nudged = list(zip(*runs, strict=True))
    one_ulp = [sensitivity(one, moved) for one, moved in zip(reference, nudged, strict=True)]
    yield reference_row("sim", label, reference, again, one_ulp, allow_errors=settings.allow_errors)
    for schedule in schedules:
        if schedule is not InOrder:
            yield run_row("sim", label, schedule(), reference, run(schedule), one_ulp)
    # Not at the top: sockets and processes slow every start down, and few programs need them.
    from simstrategy.check.processes import run_in_processes  # noqa: PLC0415

    for name in names:
        outcomes = run_in_processes(program, name, workers, settings.semantics, settings.timeout_s)
        yield run_row(name, label, InOrder(), reference, outcomes, one_ulp)


def _run_cluster(
    program: Program, schedule: ScheduleMaker, *, workers: int, settings: Settings, nudge: Nudge | None = None
) -> tuple[Outcome, ...]:
    trace = Trace(root=program_folder(program))
    probes: dict[int, GroupCallProbe] = {}

    def wrap(backend: Backend) -> Backend:
        if nudge is not None:
            return UlpPerturbed(backend, nudge.pattern, functions=nudge.functions)
        return probes.setdefault(backend.local_devices[0].process, GroupCallProbe(backend, trace))

    def main(strategy: Strategy) -> Outcome:
        return run_program(program, strategy, trace, probe=probes.get(group_of(strategy).coordinator.worker))

    cluster = Cluster(
        workers,
        1,
        semantics=settings.semantics,
        schedule=schedule(),
        trace=trace,
        wrap=wrap,
    )
    return cluster.run(main)
