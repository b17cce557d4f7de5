"""`simstrategy run PROGRAM`: one program on one backend."""

import itertools
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from simstrategy.check.openings import LINEAR
from simstrategy.check.outcome import Outcome, program_folder
from simstrategy.cli.ending import clear_errors, text_of
from simstrategy.cli.options import Order
from simstrategy.cli.running import RunSettings, files_named, loaded_program, outcomes_of, recorder_of
from simstrategy.cli.texts import wide_console
from simstrategy.cli.writing import write_text
from simstrategy.player import as_player, own_run
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
    html: Annotated[Path | None, typer.Option(help="Where to write a page in which to step through the run.")] = None,
    function: Annotated[str, typer.Option(help="The function of the file to run.")] = "program",
    timeout: Annotated[float, typer.Option(help="Seconds, for worker processes.")] = 600.0,
    first: Annotated[int, typer.Option(help="How many of the first values of each result are shown.", min=0)] = 10,
) -> None:
    """Run a program and print what it returned.

    Exit code 0: it ended. 1: it raised. 2: it could not be run, or its trace or recording not be written.
    """
    console = wide_console()
    settings = RunSettings(backend, replicas, workers, schedule, order, semantics, function, timeout)
    with clear_errors():
        loaded = loaded_program(program, function)
        files = files_named(loaded, {"--trace": trace, "--record": record, "--html": html})
        if record is None and html is None:
            events: AnyTrace = Trace(root=program_folder(loaded))
        else:
            events = recorder_of(loaded, program, settings, record=files.get("--record"), whole=whole)
        outcomes = outcomes_of(loaded, program, settings, events)
    for worker, outcome in enumerate(outcomes):
        _show(console, f"worker {worker}: " if len(outcomes) > 1 else "", outcome, first)
    with clear_errors():
        if trace is not None:
            write_events(files["--trace"], itertools.chain.from_iterable(outcome.events for outcome in outcomes))
        if isinstance(events, Recorder):
            events.close()
            if html is not None:
                played = own_run(events.recording(), Path(program_folder(loaded)))
                write_text("--html", files["--html"], as_player(program.name, [played]))
    if any(outcome.error is not None for outcome in outcomes):
        raise typer.Exit(1)


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
