"""The command line of the replay: one file of recorded answers on one backend."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from golden_replay import COLUMNS, read_cases, read_deviations, replay_all
from simstrategy.cli.ending import clear_errors
from simstrategy.cli.options import semantics_named
from simstrategy.cli.texts import wide_console

__all__ = ["app"]

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def replay(
    file: Annotated[Path, typer.Argument(help="Recorded cases, one JSON object a line.")],
    backend: Annotated[str, typer.Option(help="A backend's name, or module:factory.")] = "sim",
    semantics: Annotated[str, typer.Option(help="TF1_13, TF1_15 or TF2.")] = "TF1_15",
    deviations: Annotated[Path | None, typer.Option(help="A TOML file of answers that differ on purpose.")] = None,
    first: Annotated[int, typer.Option(help="How many differences to print.", min=0)] = 10,
) -> None:
    """Replay recorded answers of real TensorFlow and compare to the bit.

    Exit code 0: none differs. 1: some differ. 2: the replay could not be done.
    """
    console = wide_console()
    with clear_errors():
        profile = semantics_named(semantics)
        cases = read_cases(file)
        listed = {} if deviations is None else read_deviations(deviations, profile.name, backend)
        with console.status(f"{file.name} on {backend} …"):
            tally = replay_all(cases, backend, profile, listed)
    title = f"{file.name}: {backend} with {profile.name}, against TensorFlow {profile.release}"
    console.print(title, style="italic", markup=False, highlight=False)
    table = Table(box=None, header_style="bold")
    for number, column in enumerate(COLUMNS):
        table.add_column(column, justify="right" if number else "left")
    differing = COLUMNS.index("differ")
    for row in tally.rows():
        table.add_row(*row, style="red" if row[differing] != "0" else "bold" if row[0] == "all" else None)
    console.print(table)
    for text in tally.not_asked():
        console.print(text, style="dim", markup=False, highlight=False)
    differences = tally.differences()
    for text in differences[:first]:
        console.print(text, style="red", markup=False, highlight=False)
    if len(differences) > first:
        console.print(f"… and {len(differences) - first} more", style="red")
    console.print("No answer differs." if tally.agrees else "Not all answers agree.", style="bold")
    if not tally.agrees:
        raise typer.Exit(1)
