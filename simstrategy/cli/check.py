"""`simstrategy check PROGRAM`: the main job."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from simstrategy.check import Report, Row
from simstrategy.check import check as run_check
from simstrategy.check.programs import load_program
from simstrategy.check.report import COLUMNS
from simstrategy.cli.options import clear_errors, numbers, schedule_maker, semantics_named, wide_console, words

__all__ = ["check"]


def check(
    program: Annotated[Path, typer.Argument(help="A Python file that defines program(strategy).")],
    backends: Annotated[str, typer.Option(help="Names, separated by commas; the first is the reference.")] = "sim",
    replicas: Annotated[str, typer.Option(help="Numbers of replicas in one process.")] = "1,2,4",
    workers: Annotated[str, typer.Option(help="Numbers of processes, for backends that span processes.")] = "",
    schedules: Annotated[str, typer.Option(help="in-order, seeded:N, separated by commas.")] = "in-order",
    semantics: Annotated[str, typer.Option(help="TF1_13, TF1_15 or TF2.")] = "TF1_15",
    function: Annotated[str, typer.Option(help="The function of the file to run.")] = "program",
    timeout: Annotated[float, typer.Option(help="Seconds for each run in processes of its own.")] = 600.0,
    allow_errors: Annotated[bool, typer.Option(help="A program may raise, if it raises the same everywhere.")] = False,
) -> None:
    """Run a program on several backends and compare values, variables, errors and traces.

    One that takes a tf.distribute.Strategy, by its parameter's type, such as a Keras program, runs under
    TensorFlow's own MirroredStrategy with each number of replicas.

    Exit code 0: all agree. 1: some differ. 2: the check could not be done.
    """
    console = wide_console()
    with clear_errors():
        loaded = load_program(program, function)
        with console.status(f"{program.name} …") as status:

            def seen(row: Row) -> None:
                status.update(f"{program.name}: {row.backend}, {row.replicas} replicas done …")

            report = run_check(
                loaded,
                backends=words(backends),
                replicas=numbers(replicas),
                workers=numbers(workers),
                schedules=[schedule_maker(word) for word in words(schedules)],
                semantics=semantics_named(semantics),
                timeout_s=timeout,
                allow_errors=allow_errors,
                on_row=seen,
            )
    _show(console, report)
    if not report.agrees:
        raise typer.Exit(1)


def _show(console: Console, report: Report) -> None:
    table = Table(*COLUMNS, title=f"check of {report.program}", box=None, header_style="bold", title_justify="left")
    for row in report.rows:
        style = "red" if row.problem is not None else "dim" if row.reference else None
        table.add_row(*row.cells(), style=style)
    console.print(table)
    for found in report.not_finite():
        console.print(f"First value that is not finite: {found}", style="yellow", markup=False)
    for remark in report.remarks():
        console.print(remark, style="yellow", markup=False, highlight=False)
    for problem in report.problems():
        console.print(problem, style="red", markup=False)
    console.print("All runs agree." if report.agrees else "Not all runs agree.", style="bold")
