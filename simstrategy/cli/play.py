"""`simstrategy play`: a page in which to step through a run, of a program or of a recording."""

from pathlib import Path
from typing import Annotated

import typer

from simstrategy.check.openings import LINEAR
from simstrategy.check.outcome import program_folder
from simstrategy.cli.options import Order, clear_errors, wide_console
from simstrategy.cli.outputs import write_text
from simstrategy.cli.running import RunSettings, files_named, loaded_program, outcomes_of, recorder_of
from simstrategy.errors import InvalidArgument
from simstrategy.player import PlayedRun, as_player, own_run, read_run
from simstrategy.trace import read

__all__ = ["play"]

_File = Annotated[Path, typer.Argument(help="A program, or a recording that run --record or --trace wrote.")]
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
            run, page, raised = _played(file, settings, page)
        else:
            _refuse_options(context, file)
            if page.exists() and page.samefile(file):
                raise InvalidArgument(f"--output: {str(page)!r} is the recording. Give the name of another file.")
            run = read_run(read(file), file.parent)
        text = as_player(file.name, [run])
        write_text("--output", page, text)
    events = len(run.recording.points) + len(run.recording.parts) + len(run.recording.writes)
    console = wide_console()
    line = f"{page}: {events} events, {len(text) / 1000:.0f} KB. Open it in a browser."
    console.print(line, markup=False, highlight=False, soft_wrap=True)
    if raised:
        console.print("The program raised: the page ends there.", style="yellow")
        raise typer.Exit(1)


def _played(program: Path, settings: RunSettings, page: Path) -> tuple[PlayedRun, Path, bool]:
    """Runs a program; returns its run, the full path of the page, and whether it raised."""
    loaded = loaded_program(program, settings.function)
    files = files_named(loaded, {"--output": page})
    recorder = recorder_of(loaded, program, settings)
    outcomes = outcomes_of(loaded, program, settings, recorder)
    recorder.close()
    run = own_run(recorder.recording(), Path(program_folder(loaded)))
    return run, files["--output"], any(outcome.error is not None for outcome in outcomes)


def _refuse_options(context: typer.Context, file: Path) -> None:
    """Raises InvalidArgument for options on how to run, which a recording has behind it."""
    sources = {name: context.get_parameter_source(name) for name in context.params if name not in ("file", "output")}
    given = [name for name, source in sources.items() if source is not None and source.name != "DEFAULT"]
    if given:
        raise InvalidArgument(
            f"--{given[0]} is for programs, and {file.name} is a recording: its name does not end in .py. Leave the "
            f"option out, or give the program."
        )
