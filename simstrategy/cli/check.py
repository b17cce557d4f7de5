"""`simstrategy check PROGRAM`: runs a program on several backends and compares the outcomes."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from simstrategy.check import Report, Row
from simstrategy.check import check as run_check
from simstrategy.check.formats import EXIT_CODES, NOTHING, Played, played
from simstrategy.check.law_table import NAMED
from simstrategy.check.openings import LINEAR
from simstrategy.check.programs import load_program, require_launched
from simstrategy.check.remarks import REMARKS
from simstrategy.check.scripts import check_script, front_named
from simstrategy.check.scripts.faults import KINDS
from simstrategy.cli.ending import clear_errors
from simstrategy.cli.keras import check_on_libraries, libraries_named
from simstrategy.cli.leaving import exits_named
from simstrategy.cli.options import Order, schedule_maker, semantics_named
from simstrategy.cli.outputs import PAGE, Output, outputs_of, write_outputs
from simstrategy.cli.progress import progress
from simstrategy.cli.quiet import program_output
from simstrategy.cli.script_options import OF_SCRIPTS, require_no_script, settings_of_script
from simstrategy.cli.texts import named_reasons, numbers, varied, wide_console, words

__all__ = ["check"]

_STYLES: Final = {
    "title": "italic",
    "columns": "bold",
    "reference": "dim",
    "problem": "red",
    "undecided": "yellow",
    "remark": "yellow",
    "verdict": "bold",
}

_Json = Annotated[Path | None, typer.Option(help="A file for the results as data.")]
_Junit = Annotated[Path | None, typer.Option(help="A file for the results as JUnit XML.")]
_Markdown = Annotated[
    Path | None, typer.Option(help="A file to which the results are added as Markdown, such as $GITHUB_STEP_SUMMARY.")
]
_Html = Annotated[
    Path | None, typer.Option(help="A file for the results as a page in which to step through what differs.")
]
_Quiet = Annotated[bool, typer.Option("--quiet-program", help="Drop what the program prints, warnings included.")]
_SameOn = Annotated[
    str, typer.Option(help="In place of --laws and --not: all that must not change the result, such as replicas,order.")
]
_Exempt = Annotated[list[str] | None, typer.Option(help="NAME=REASON: a value that no law compares. May be repeated.")]
_As = Annotated[str, typer.Option("--as", help="What starts the script, such as torchrun; none for program(strategy).")]
_Arguments = Annotated[
    list[str] | None,
    typer.Argument(help="After --: arguments of the script; {64//replicas} in them stands for a number."),
]
_SameOutput = Annotated[
    str, typer.Option(help="A regular expression: the numbers in such lines of a script's output must be the same.")
]
_Faults = Annotated[
    str, typer.Option(help=f"Plant faults in a script's calls, all or some of {', '.join(KINDS)}: the law of faults.")
]
_Module = Annotated[bool, typer.Option("--module", "-m", help="With --as: PROGRAM is the name of a module.")]
_Device = Annotated[
    str, typer.Option(help="With --as: what the script's devices are, such as cpu-for-cuda for one written for GPUs.")
]
_Keras = Annotated[
    str, typer.Option(help="Libraries that Keras computes with, each in its process: tensorflow,jax,torch.")
]
_Compiled = Annotated[bool, typer.Option("--compiled", help="Compile every step as well, and compare with its tasks.")]
_Vary = Annotated[list[str] | None, typer.Option(help="NAME=1,2,4: an argument that cuts the same work differently.")]


def check(
    context: typer.Context,
    program: Annotated[Path, typer.Argument(help="A Python file that defines program, or a script.")],
    arguments: _Arguments = None,
    launcher: _As = "",
    backends: Annotated[str, typer.Option(help="Names, separated by commas; the first is the reference.")] = "sim",
    replicas: Annotated[str, typer.Option(help="Numbers of replicas in one process.")] = "1,2,3,4",
    workers: Annotated[str, typer.Option(help="Numbers of processes, for backends that span processes.")] = "",
    schedules: Annotated[str, typer.Option(help="in-order, seeded:N, all:N, separated by commas.")] = "in-order",
    semantics: Annotated[str, typer.Option(help="TF1_13, TF1_15 or TF2.")] = "TF1_15",
    function: Annotated[str, typer.Option(help="The function of the file to run.")] = "program",
    timeout: Annotated[float, typer.Option(help="Seconds for each run in worker processes.")] = 600.0,
    allow_errors: Annotated[bool, typer.Option(help="A program may raise, if it raises the same everywhere.")] = False,
    laws: Annotated[str, typer.Option(help=f"Laws to add, or all: {', '.join(NAMED)}.")] = "",
    without: Annotated[str, typer.Option("--not", help="Laws to leave out, such as replicas.")] = "",
    same_on: _SameOn = "",
    order: Order = LINEAR,
    exempt: _Exempt = None,
    vary: _Vary = None,
    same_output: _SameOutput = "",
    faults: _Faults = "",
    module: _Module = False,
    device: _Device = "",
    compiled: _Compiled = False,
    keras: _Keras = "",
    require: Annotated[str, typer.Option(help=f"What must have been tried, of {', '.join(REMARKS)}.")] = "",
    json: _Json = None,
    junit: _Junit = None,
    markdown: _Markdown = None,
    html: _Html = None,
    quiet_program: _Quiet = False,
) -> None:
    """Judge a program: compare its values, variables, errors and traces over replica counts and backends.

    program(strategy: tf.distribute.Strategy), as with Keras, runs under TensorFlow's strategies, and one of JAX,
    program(mesh: jax.sharding.Mesh), on devices of the CPU. A script of torchrun: --as torchrun train.py -- --size 8.

    Exit code 0: all agree. 1: some differ. 2: not all could be checked or judged, or a file was not written.
    """
    named = {"backends": backends, "laws": laws, "without": without, "same_on": same_on, "require": require}
    outputs = outputs_of({"--json": json, "--junit": junit, "--markdown": markdown, PAGE: html})
    with clear_errors():
        settings: dict[str, Any] = {name: words(text) for name, text in named.items()}
        settings |= {"timeout_s": timeout, "allow_errors": allow_errors, "order": order, "function": function}
        settings |= {name: numbers(text) for name, text in {"replicas": replicas, "workers": workers}.items()}
        settings |= {"schedules": [*map(schedule_maker, words(schedules))], "semantics": semantics_named(semantics)}
        settings |= {"exempt": named_reasons(exempt or []), "vary": varied(vary or []), "compiled": compiled}
        report = _checked(program, _run(context, words(keras), settings), quiet=quiet_program)
        _show(report, outputs, NOTHING if html is None else _played(program, report, quiet=quiet_program))
    raise typer.Exit(EXIT_CODES[report.verdict])


def _run(context: typer.Context, libraries: Sequence[str], settings: Mapping[str, Any]) -> Callable[..., Report]:
    """Returns what checks a script, or a function of a file."""
    program, launcher = context.params["program"], context.params["launcher"]
    of_script = {name: context.params[name] for name in ("arguments", *OF_SCRIPTS)}
    if libraries:
        return check_on_libraries(context, libraries_named(libraries, launcher))
    if launcher:
        front = front_named(launcher)
        if not of_script["module"]:
            require_launched(program, launcher)
        chosen = {"is_module": of_script["module"], "device": of_script["device"]}
        front = partial(front, **{name: value for name, value in chosen.items() if value})
        given = settings_of_script(settings) | {"arguments": of_script["arguments"] or ()}
        given |= {"same_output": of_script["same_output"] or None, "faults": words(of_script["faults"])}
        return partial(check_script, front, str(program), **given)
    require_no_script(of_script)
    return partial(_loaded, program, of_script["arguments"] or (), **settings)


def _loaded(program: Path, arguments: Sequence[str], function: str, **settings: Any) -> Report:
    return run_check(load_program(program, function, arguments), **settings)


def _checked(program: Path, run: Callable[..., Report], *, quiet: bool) -> Report:
    """Checks the program, with a status line.  It may print, and take long."""
    with exits_named(), progress(f"{program.name} …") as show, program_output(quiet=quiet):

        def show_row(row: Row) -> None:
            show(f"{program.name}: {row.law}, {row.backend}, replicas {row.replicas} done …")

        return run(on_row=show_row)


def _played(program: Path, report: Report, *, quiet: bool) -> Played:
    """Makes the runs of a page, with a status line.  The program may print."""
    with progress(f"{program.name}: the runs of the page …"), program_output(quiet=quiet):
        return played(report)


def _show(report: Report, outputs: Sequence[Output], shown: Played) -> None:
    console = wide_console()
    try:
        for number, line in enumerate(report.lines(characters=console.width if console.is_terminal else None)):
            # Sentences are broken between words; a row of the table, and what a log of CI keeps, is one line.
            whole = number <= len(report.rows) + 1 or not console.is_terminal
            console.print(line.text, style=_STYLES.get(line.kind), markup=False, highlight=False, soft_wrap=whole)
    finally:  # where the terminal is gone, the files are what is left
        write_outputs(report, outputs, shown)
