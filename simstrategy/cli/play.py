"""`simstrategy play`: a page in which to step through a run, of a program or of a recording."""

import itertools
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from simstrategy.check.openings import LINEAR
from simstrategy.check.outcome import program_folder
from simstrategy.cli.ending import clear_errors
from simstrategy.cli.options import Order, cost_of
from simstrategy.cli.running import RunSettings, files_named, loaded_program, outcomes_of, recorder_of
from simstrategy.cli.texts import varied, wide_console
from simstrategy.cli.writing import write_text
from simstrategy.errors import InvalidArgument
from simstrategy.player import PlayedRun, TimedRun, as_player, as_trace_events, own_run, read_run
from simstrategy.sim import timeline
from simstrategy.trace import Recording, read

__all__ = ["play"]

_VARIED: Final[dict[str, type]] = {"replicas": int, "workers": int, "schedule": str, "order": str}
"""What a page may vary, and the type of its values."""
_RUNS_MAX: Final = 64
_BYTES_MAX: Final = 256_000_000
"""Of a recording."""

_File = Annotated[Path, typer.Argument(help="A program, or a recording that run --record or --trace wrote.")]
_Vary = Annotated[
    list[str] | None,
    typer.Option(help="NAME=1,2,4: a run for each value of replicas, workers, schedule or order. May be repeated."),
]
_Cost = Annotated[
    str,
    typer.Option(
        help="Declared costs, for a time line: compute_s=0.01,row_s=0,alpha_s=1e-5,beta_s_per_byte=1e-9,slow=2:4,"
        "algorithm=ring,overlap=True."
    ),
]
_Perfetto = Annotated[
    Path | None, typer.Option(help="A file for the time line in the trace format of Perfetto; needs --cost.")
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
    cost: _Cost = "",
    perfetto: _Perfetto = None,
) -> None:
    """Write a page in which to step through a run: replicas, synchronisation points, data, variables and source.

    The page is one file that needs no network. A file whose name ends in .py is a program, and is run.

    Exit code 0: the page was written. 1: it was, and the program raised. 2: it was not.
    """
    page = output if output is not None else Path(f"{file.stem}.html")
    raised = False
    with clear_errors():
        declared = cost_of(cost) if cost else None
        if perfetto is not None and declared is None:
            raise InvalidArgument(
                "--perfetto writes a time line, and a recording has no times: declare costs as well, such as "
                "--cost compute_s=0.01,alpha_s=1e-5,beta_s_per_byte=1e-9."
            )
        if file.suffix == ".py":
            settings = RunSettings(backend, replicas, workers, schedule, order, semantics, function, timeout_s=600.0)
            runs, files, raised = _played(file, settings, {"--output": page, "--perfetto": perfetto}, vary or [])
        else:
            _refuse_options(context, file)
            files = _files_beside(file, {"--output": page, "--perfetto": perfetto})
            runs = [read_run(_read(file), file.parent)]
        page = files["--output"]
        text = as_player(file.name, runs, cost=declared)
        write_text("--output", page, text)
        if "--perfetto" in files and declared is not None:
            timed = [TimedRun(run.name, run.recording, timeline(run.recording, declared)) for run in runs]
            write_text("--perfetto", files["--perfetto"], as_trace_events(timed))
    events = sum(len(one) for run in runs for one in run.recording[1:4])
    console = wide_console()
    line = f"{page}: {events} events, {len(text) / 1000:.0f} KB. Open it in a browser."
    console.print(line, markup=False, highlight=False, soft_wrap=True)
    if raised:
        console.print("The program raised: the page ends there.", style="yellow")
        raise typer.Exit(1)


def _read(file: Path) -> Recording:
    """Reads a recording.  Raises InvalidArgument for one that is too large for a page, and what `read` raises."""
    size = file.stat().st_size if file.is_file() else 0
    if size > _BYTES_MAX:
        raise InvalidArgument(
            f"{file.name} has {size / 1e6:.0f} MB, and a page shows a recording of at most {_BYTES_MAX / 1e6:.0f} MB. "
            f"Record fewer steps, or less of each value with --whole 0."
        )
    return read(file)


def _files_beside(recording: Path, named: Mapping[str, Path | None]) -> dict[str, Path]:
    """Returns the files that options name.  Raises InvalidArgument for the recording, and for one file twice."""
    files = {option: file for option, file in named.items() if file is not None}
    for option, file in files.items():
        if file.exists() and recording.exists() and file.samefile(recording):
            raise InvalidArgument(f"{option}: {str(file)!r} is the recording. Give the name of another file.")
    if len({Path(os.path.abspath(file)) for file in files.values()}) < len(files):
        raise InvalidArgument(f"{' and '.join(files)} name one file. Give each a file of its own.")
    return files


def _played(
    program: Path, settings: RunSettings, named: Mapping[str, Path | None], vary: Sequence[str]
) -> tuple[list[PlayedRun], dict[str, Path], bool]:
    """Runs a program with each of its settings; returns the runs, the full paths of the files, whether one raised."""
    loaded = loaded_program(program, settings.function)
    files = files_named(loaded, named)
    runs, raised = [], False
    for name, one in _varied(settings, vary):
        recorder = recorder_of(loaded, program, one)
        outcomes = outcomes_of(loaded, program, one, recorder)
        recorder.close()
        runs.append(own_run(recorder.recording(), Path(program_folder(loaded)), name=name))
        raised = raised or any(outcome.error is not None for outcome in outcomes)
    return runs, files, raised


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
    own = ("file", "output", "cost", "perfetto")
    sources = {name: context.get_parameter_source(name) for name in context.params if name not in own}
    given = [name for name, source in sources.items() if source is not None and source.name != "DEFAULT"]
    if given:
        raise InvalidArgument(
            f"--{given[0]} is for programs, and {file.name} is a recording: its name does not end in .py. Leave the "
            f"option out, or give the program."
        )
