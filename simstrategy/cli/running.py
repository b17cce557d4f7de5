"""Runs a program once, as `run` and `play` do: in one worker, in simulated workers, or in processes."""

import os
import platform
from collections.abc import Mapping, Sequence
from contextlib import closing
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import numpy as np

from simstrategy.check.checkers import checker_of
from simstrategy.check.folder import same_folder
from simstrategy.check.openings import open_ordered
from simstrategy.check.outcome import Outcome, Program, program_folder, run_program, source_of
from simstrategy.check.prints import recorded_prints
from simstrategy.check.processes import run_in_processes
from simstrategy.check.programs import load_program
from simstrategy.cli.options import one_schedule, semantics_named
from simstrategy.cli.progress import progress
from simstrategy.errors import InvalidArgument
from simstrategy.schedules import InOrder, Schedule
from simstrategy.sim import Cluster, SimBackend
from simstrategy.strategy import Semantics, Strategy
from simstrategy.trace import AnyTrace, Recorder

__all__ = ["RunSettings", "files_named", "loaded_program", "outcomes_of", "recorder_of"]


class RunSettings(NamedTuple):
    """How a program is run; the texts as the options have them.  timeout_s: for worker processes."""

    backend: str
    replicas: int
    workers: int
    schedule: str
    order: str
    semantics: str
    function: str
    timeout_s: float


def loaded_program(program: Path, function: str) -> Program:
    """Loads a program.  Raises InvalidArgument for one that takes another library's strategy."""
    loaded = load_program(program, function)
    if checker_of(loaded) is not None:
        raise InvalidArgument(
            f"{program.name}: {function} takes another library's strategy, which this command cannot run. Compare "
            f"its replica counts with: simstrategy check {program}"
        )
    return loaded


def outcomes_of(loaded: Program, program: Path, settings: RunSettings, events: AnyTrace) -> Sequence[Outcome]:
    """Runs a program, with a status line; returns the outcome of each worker."""
    profile, schedule = semantics_named(settings.semantics), one_schedule(settings.schedule)
    recorder = events if isinstance(events, Recorder) else None
    each = "1 replica" if settings.replicas == 1 else f"{settings.replicas} replicas"
    where = each if settings.workers == 1 else f"{settings.workers} workers of {each}"
    shown = progress(f"{program.name} on {settings.backend}, {where}")
    with shown, same_folder(), recorded_prints(recorder):
        if settings.workers > 1:
            return _run_workers(loaded, settings, schedule, profile, events)
        return _run_one_worker(loaded, settings, schedule, profile, events)


def _run_workers(
    loaded: Program, settings: RunSettings, schedule: Schedule, profile: Semantics, events: AnyTrace
) -> tuple[Outcome, ...]:
    """Runs a program in several workers: simulated ones, where the devices are, or processes."""
    backend, replicas, workers = settings.backend, settings.replicas, settings.workers
    with closing(open_ordered(backend, 1, settings.order)) as alone:
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
            "--record is for replicas in one process and for simulated workers, and so are pages of a run. Of real "
            "processes --trace keeps the requests: leave --record out, or use --backend sim."
        )
    return run_in_processes(loaded, backend, workers, profile, settings.timeout_s, replicas=replicas)


def _run_one_worker(
    loaded: Program, settings: RunSettings, schedule: Schedule, profile: Semantics, events: AnyTrace
) -> tuple[Outcome, ...]:
    with closing(open_ordered(settings.backend, settings.replicas, settings.order)) as opened:
        plain: object = opened
        if isinstance(events, Recorder) and isinstance(plain, SimBackend):
            events.describe(order=plain.order)
        make = Strategy.multi_worker if opened.capabilities.spans_processes else Strategy.mirrored
        strategy = make(opened, semantics=profile, schedule=schedule, trace=events)
        with closing(strategy):
            return (run_program(loaded, strategy, events),)


def recorder_of(
    loaded: Program, program: Path, settings: RunSettings, *, record: Path | None = None, whole: int | None = None
) -> Recorder:
    """Returns the recorder of a run, with what is known before it.  record: the file; None keeps it in memory."""
    recorder = Recorder(record, root=program_folder(loaded), whole_bytes=whole)
    versions = {"python": platform.python_version(), "numpy": np.__version__, "simstrategy": version("simstrategy")}
    recorder.describe(source=source_of(loaded), versions=versions, command=_command(program, settings))
    return recorder


def _command(program: Path, settings: RunSettings) -> str:
    """Returns the command that runs a program, for the header of its recording."""
    names = ("backend", "replicas", "workers", "semantics", "order", "schedule", "function")
    options = settings._asdict()
    return " ".join([f"run {program.name}", *(f"--{name} {options[name]}" for name in names)])


def files_named(loaded: Program, named: Mapping[str, Path | None]) -> dict[str, Path]:
    """Returns the files that options name, with full paths: a program may change the current folder.

    Raises InvalidArgument, before the program runs, for a file that cannot be written, for the program, and for two
    options with one file.
    """
    files = {option: Path(os.path.abspath(file)) for option, file in named.items() if file is not None}
    program = Path(program_folder(loaded)) / source_of(loaded).get("file", "")
    for option, file in files.items():
        if not file.parent.is_dir():
            raise InvalidArgument(f"{option}: there is no folder {str(file.parent)!r} to write {file.name} to.")
        if file.is_dir() or file.is_fifo() or file.is_socket():
            kind = "a folder" if file.is_dir() else "a pipe or a socket"
            raise InvalidArgument(f"{option}: {str(file)!r} is {kind}. Give the name of a file.")
        if file.exists() and program.is_file() and file.samefile(program):
            raise InvalidArgument(f"{option}: {str(file)!r} is the program. Give the name of another file.")
        other = next((one for one, name in files.items() if name == file and one != option), None)
        if other is not None:
            raise InvalidArgument(f"{option} and {other} name one file, {str(file)!r}. Give each a file of its own.")
    return files
