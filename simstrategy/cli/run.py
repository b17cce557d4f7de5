"""`simstrategy run PROGRAM`: one program on one backend."""

import itertools
import os
import platform
from contextlib import AbstractContextManager, closing
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from simstrategy.check.checkers import checker_of
from simstrategy.check.folder import same_folder
from simstrategy.check.openings import LINEAR, open_ordered
from simstrategy.check.outcome import Outcome, Program, program_folder, run_program, source_of
from simstrategy.check.prints import recorded_prints
from simstrategy.check.processes import run_in_processes
from simstrategy.check.programs import load_program
from simstrategy.cli.options import (
    Order,
    clear_errors,
    one_schedule,
    semantics_named,
    text_of,
    wide_console,
)
from simstrategy.cli.progress import progress
from simstrategy.errors import InvalidArgument
from simstrategy.schedules import InOrder, Schedule
from simstrategy.sim import Cluster, SimBackend
from simstrategy.strategy import Semantics, Strategy
from simstrategy.trace import AnyTrace, Recorder, Trace, write_events

__all__ = ["run"]

_Whole = Annotated[
    int | None, typer.Option(help="Bytes up to which --record keeps every value whole; 4096, up to 1 MiB.", min=0)
]


def run(
    program: Annotated[Path, typer.Argument(help="A Python file that defines program(strategy).")],
    backend: Annotated[str, typer.Option(help="A backend's name, or module:factory.")] = "sim",
    replicas: Annotated[int, typer.Option(help="Replicas of each worker.", min=1)] = 1,
    workers: Annotated[int, typer.Option(help="Workers: simulated, or processes on this machine.", min=1)] = 1,
    schedule: Annotated[str, typer.Option(help="in-order or seeded:N.")] = "in-order",
    order: Order = LINEAR,
    semantics: Annotated[str, typer.Option(help="TF1_13, TF1_15 or TF2.")] = "TF1_15",
    trace: Annotated[Path | None, typer.Option(help="Where to write the trace.")] = None,
    record: Annotated[Path | None, typer.Option(help="Where to write the recording: the trace with values.")] = None,
    whole: _Whole = None,
    function: Annotated[str, typer.Option(help="The function of the file to run.")] = "program",
    timeout: Annotated[float, typer.Option(help="Seconds, for worker processes.")] = 600.0,
    first: Annotated[int, typer.Option(help="How many of the first values of each result are shown.", min=0)] = 10,
) -> None:
    """Run a program and print what it returned.

    Exit code 0: it ended. 1: it raised. 2: it could not be run, or its trace or recording not be written.
    """
    console, trace, record = wide_console(), _absolute(trace), _absolute(record)
    with clear_errors():
        loaded = load_program(program, function)
        if checker_of(loaded) is not None:
            raise InvalidArgument(
                f"{program.name}: {function} takes another library's strategy, which this command cannot run. Compare "
                f"its replica counts with: simstrategy check {program}"
            )
        profile = semantics_named(semantics)
        made = one_schedule(schedule)
        if trace is not None:
            _require_writable(trace, "--trace")
        events = Trace(root=program_folder(loaded)) if record is None else _recorder(record, loaded, whole)
        recorder = events if isinstance(events, Recorder) else None
        if recorder is not None:
            named = {"backend": backend, "replicas": replicas, "workers": workers, "semantics": semantics}
            recorder.describe(command=_command(program, **named, order=order, schedule=schedule, function=function))
        with _shown(f"{program.name} on {backend}", workers, replicas), same_folder(), recorded_prints(recorder):
            if workers > 1:
                outcomes = _run_workers(loaded, backend, replicas, workers, made, order, profile, timeout, events)
            else:
                outcomes = _run_one_worker(loaded, backend, replicas, made, order, profile, events)
    for worker, outcome in enumerate(outcomes):
        _show(console, f"worker {worker}: " if len(outcomes) > 1 else "", outcome, first)
    if trace is not None:
        write_events(trace, itertools.chain.from_iterable(outcome.events for outcome in outcomes))
    if recorder is not None:
        with clear_errors():
            recorder.close()
    if any(outcome.error is not None for outcome in outcomes):
        raise typer.Exit(1)


def _run_workers(
    loaded: Program,
    backend: str,
    replicas: int,
    workers: int,
    schedule: Schedule,
    order: str,
    profile: Semantics,
    timeout: float,
    events: AnyTrace,
) -> tuple[Outcome, ...]:
    """Runs a program in several workers: simulated ones, where the devices are, or processes."""
    with closing(open_ordered(backend, 1, order)) as alone:
        spans_processes = alone.capabilities.spans_processes
    opened: object = alone
    if isinstance(opened, SimBackend):
        cluster = Cluster(workers, replicas, semantics=profile, schedule=schedule, trace=events, order=opened.order)
        return cluster.run(lambda strategy: run_program(loaded, strategy, events))
    if not spans_processes:
        raise InvalidArgument(
            f"{backend!r} runs all its replicas in one process: use --replicas, or a backend such as gloo."
        )
    if not isinstance(schedule, InOrder):
        raise InvalidArgument(
            "--schedule is for replicas in one process. Real processes run in no fixed order: leave it out."
        )
    if isinstance(events, Recorder):
        raise InvalidArgument(
            "--record is for replicas in one process and for simulated workers. Of real processes --trace keeps the "
            "requests: leave --record out, or use --backend sim."
        )
    return run_in_processes(loaded, backend, workers, profile, timeout, replicas=replicas)


def _run_one_worker(
    loaded: Program,
    backend: str,
    replicas: int,
    schedule: Schedule,
    order: str,
    profile: Semantics,
    events: AnyTrace,
) -> tuple[Outcome, ...]:
    with closing(open_ordered(backend, replicas, order)) as opened:
        plain: object = opened
        if isinstance(events, Recorder) and isinstance(plain, SimBackend):
            events.describe(order=plain.order)
        make = Strategy.multi_worker if opened.capabilities.spans_processes else Strategy.mirrored
        strategy = make(opened, semantics=profile, schedule=schedule, trace=events)
        with closing(strategy):
            return (run_program(loaded, strategy, events),)


def _recorder(record: Path, loaded: Program, whole: int | None) -> Recorder:
    """Returns the recorder of a run, with what is known before it."""
    _require_writable(record, "--record")
    source = source_of(loaded)
    if source and record.exists() and record.samefile(Path(program_folder(loaded)) / source["file"]):
        raise InvalidArgument(f"--record: {str(record)!r} is the program. Give the name of another file.")
    recorder = Recorder(record, root=program_folder(loaded), whole_bytes=whole)
    versions = {"python": platform.python_version(), "numpy": np.__version__, "simstrategy": version("simstrategy")}
    recorder.describe(source=source, versions=versions)
    return recorder


def _command(program: Path, **options: object) -> str:
    """Returns the command that runs a program, for the header of its recording."""
    return " ".join([f"run {program.name}", *(f"--{name} {value}" for name, value in options.items())])


def _absolute(file: Path | None) -> Path | None:
    """Returns the full path of a file: a program may change the current folder."""
    return None if file is None else Path(os.path.abspath(file))


def _require_writable(file: Path, option: str) -> None:
    """Raises InvalidArgument for a file that cannot be written, before the program runs."""
    if not file.parent.is_dir():
        raise InvalidArgument(f"{option}: there is no folder {str(file.parent)!r} to write {file.name} to.")
    if file.is_dir() or file.is_fifo() or file.is_socket():
        kind = "a folder" if file.is_dir() else "a pipe or a socket"
        raise InvalidArgument(f"{option}: {str(file)!r} is {kind}. Give the name of a file.")


def _shown(what: str, workers: int, replicas: int) -> AbstractContextManager[object]:
    each = "1 replica" if replicas == 1 else f"{replicas} replicas"
    return progress(f"{what}, {each if workers == 1 else f'{workers} workers of {each}'}")


def _show(console: Console, who: str, outcome: Outcome, first_count: int) -> None:
    if outcome.error is not None:
        text = "\n".join([f"{who}{outcome.error[0]}: {outcome.error[1]}", *map(text_of, outcome.notes)])
        console.print(text, style="red", markup=False, highlight=False)
    for path, values in _by_variable(outcome).items():
        first = values[0]
        if first.dtype.kind == "U":
            console.print(f"{who}{path}: {first} (no number)", markup=False, highlight=False)
            continue
        same = all(np.array_equal(first, value, equal_nan=first.dtype.kind in "fc") for value in values)
        count = "" if len(values) == 1 else f", {'equal' if same else 'NOT equal'} on {len(values)} replicas"
        text = f"{who}{path}: {first.dtype}{list(first.shape)}{_values(first, first_count)}{count}"
        console.print(text, markup=False, highlight=False, style=None if same else "yellow")
    events = len(outcome.events)
    console.print(f"{who}{events} event{'' if events == 1 else 's'} in the trace", style="dim")


def _values(value: np.ndarray[Any, Any], count: int) -> str:
    """Returns the first values of an array [any shape], and the last one if there are more; "" for an empty one."""
    if value.ndim == 0:
        return f" = {value}"
    flat = value.reshape(-1)
    first = " ".join(str(one) for one in flat[:count])
    if flat.size <= count:
        return f" = {first}" if flat.size else ""
    return f"{f', first {count}: {first}' if count else ''}, last {flat[-1]}"


def _by_variable(outcome: Outcome) -> dict[str, list[np.ndarray[Any, Any]]]:
    """Returns the leaves in order, a variable's components together."""
    found: dict[str, list[np.ndarray[Any, Any]]] = {}
    for path, value in outcome.leaves:
        found.setdefault(path.rpartition(", replica ")[0] if path.startswith("variable ") else path, []).append(value)
    return found
