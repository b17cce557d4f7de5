"""`simstrategy play`: a page in which to step through a run, of a program or of a recording."""

import itertools
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from simstrategy.check.openings import LINEAR
from simstrategy.check.outcome import program_folder
from simstrategy.cli.options import Order, clear_errors, varied, wide_console
from simstrategy.cli.outputs import write_text
from simstrategy.cli.running import RunSettings, files_named, loaded_program, outcomes_of, recorder_of
from simstrategy.errors import InvalidArgument
from simstrategy.player import PlayedRun, as_player, own_run, read_run
from simstrategy.trace import read

__all__ = ["play"]

_VARIED: Final[dict[str, type]] = {"replicas": int, "workers": int, "schedule": str, "order": str}
"""What a page may vary, and the type of its values."""
_RUNS_MAX: Final = 64

_File = Annotated[Path, typer.Argument(help="A program, or a recording that run --record or --trace wrote.")]
_Vary = Annotated[
    list[str] | None,
    typer.Option(help="NAME=1,2,4: a run for each value of replicas, workers, schedule or order. May be repeated."),
]
_Output = Annotated[
    Path | None, typer.Option("--output", "-o", help="The page; without it, in the current folder, named after FILE.")
]


def play(
    context: typer.Context,
    file: _File,
    output: _Output = None,
    backend: Annotated[str, typer.Option(help="A backend's name, or module:factory.")] = "sim",
    replicas: Annotated[int, typer.Option(help="Replicas of each worker.", min=1)] = 2,
    workers: Annotated[int, typer.Option(help="Simulated workers.", min=1)] = 1,
    schedule: Annotated[str, typer.Option(help="in-order or seeded:N.")] = "in-order",
    order: Order = LINEAR,
    semantics: Annotated[str, typer.Option(help="TF1_13, TF1_15 or TF2.")] = "TF1_15",
    function: Annotated[str, typer.Option(help="The function of the file to run.")] = "program",
    vary: _Vary = None,
) -> None:
    """Write a page in which to step through a run: replicas, synchronisation points, data, variables and source.

    The page is one file that needs no network. A file whose name ends in .py is a program, and is run.

    Exit code 0: the page was written. 1: it was, and the program raised. 2: it was not.
    """
    page = output if output is not None else Path(f"{file.stem}.html")
    raised = False
    with clear_errors():
        if file.suffix == ".py":
            settings = RunSettings(backend, replicas, workers, schedule, order, semantics, function, timeout_s=600.0)
            runs, page, raised = _played(file, settings, page, vary or [])
        else:
            _refuse_options(context, file)
            if page.exists() and page.samefile(file):
                raise InvalidArgument(f"--output: {str(page)!r} is the recording. Give the name of another file.")
            runs = [read_run(read(file), file.parent)]
        text = as_player(file.name, runs)
        write_text("--output", page, text)
    events = sum(len(one) for run in runs for one in run.recording[1:4])
    console = wide_console()
    line = f"{page}: {events} events, {len(text) / 1000:.0f} KB. Open it in a browser."
    console.print(line, markup=False, highlight=False, soft_wrap=True)
    if raised:
        console.print("The program raised: the page ends there.", style="yellow")
        raise typer.Exit(1)


def _played(
    program: Path, settings: RunSettings, page: Path, vary: Sequence[str]
) -> tuple[list[PlayedRun], Path, bool]:
    """Runs a program with each of its settings; returns the runs, the full path of the page, whether one raised."""
    loaded = loaded_program(program, settings.function)
    files = files_named(loaded, {"--output": page})
    runs, raised = [], False
    for name, one in _varied(settings, vary):
        recorder = recorder_of(loaded, program, one)
        outcomes = outcomes_of(loaded, program, one, recorder)
        recorder.close()
        runs.append(own_run(recorder.recording(), Path(program_folder(loaded)), name=name))
        raised = raised or any(outcome.error is not None for outcome in outcomes)
    return runs, files["--output"], raised


def _varied(settings: RunSettings, vary: Sequence[str]) -> list[tuple[str, RunSettings]]:
    """Returns the settings of each run with their name.  Raises BadParameter for what cannot be varied."""
    values = {name: _values(name, texts) for name, texts in varied(vary).items()}
    found = []
    for chosen in itertools.product(*values.values()):
        changes: dict[str, Any] = dict(zip(values, chosen, strict=True))
        named = ", ".join(f"{name} {value}" for name, value in changes.items())
        found.append((named or "run", settings._replace(**changes)))
    if len(found) > _RUNS_MAX:
        raise typer.BadParameter(f"--vary makes {len(found)} runs, and a page has at most {_RUNS_MAX}")
    return found


def _values(name: str, given: Sequence[Any]) -> list[Any]:
    """Returns the values of one setting; 1..4 stands for 1, 2, 3, 4.  Raises BadParameter for others."""
    if name not in _VARIED:
        raise typer.BadParameter(f"--vary {name}: a page varies {', '.join(_VARIED)}")
    found: list[Any] = []
    for value in given:
        bounds = re.fullmatch(r"(\d{1,4})\.\.(\d{1,4})", str(value)) if _VARIED[name] is int else None
        found += [value] if bounds is None else range(int(bounds[1]), int(bounds[2]) + 1)
    for value in found:
        is_number = isinstance(value, int) and not isinstance(value, bool) and value > 0
        if not (is_number if _VARIED[name] is int else isinstance(value, str)):
            raise typer.BadParameter(f"--vary {name}: {value!r} is no value of --{name}")
    if not found:
        raise typer.BadParameter(f"--vary {name}: {', '.join(map(str, given))} names no value")
    return found


def _refuse_options(context: typer.Context, file: Path) -> None:
    """Raises InvalidArgument for options on how to run, which a recording has behind it."""
    sources = {name: context.get_parameter_source(name) for name in context.params if name not in ("file", "output")}
    given = [name for name, source in sources.items() if source is not None and source.name != "DEFAULT"]
    if given:
        raise InvalidArgument(
            f"--{given[0]} is for programs, and {file.name} is a recording: its name does not end in .py. Leave the "
            f"option out, or give the program."
        )
