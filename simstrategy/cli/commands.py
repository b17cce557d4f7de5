"""Commands of other distributions: entry points of the group `simstrategy.commands`.

An entry point names a function that typer can make a command of. It is imported when its command is run or the
commands are listed, and at no other time. One that cannot be imported stays in the list, with the reason.
"""

import importlib
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

import typer

__all__ = ["GROUP", "installed_commands"]

GROUP: Final = "simstrategy.commands"

Command = Callable[..., Any]


def installed_commands(wanted: str | None) -> Iterator[tuple[str, Command]]:
    """Yields the installed command called `wanted`, or all of them for None: name and function, by name."""
    found = {point.name: point for point in entry_points(group=GROUP)}
    for name in sorted(found):
        if wanted in (name, None):
            yield name, _imported(found[name])


def _imported(point: EntryPoint) -> Command:
    """Returns an entry point's function, or one that prints why there is none."""
    module, _, function = point.value.partition(":")
    try:
        command: Command = vars(importlib.import_module(module))[function]
        _require_usable(command)
    except Exception as error:  # noqa: BLE001 - whatever another distribution raises must not end our commands
        return _broken(point, error)
    return command


def _require_usable(command: Command) -> None:
    """Raises what typer raises for a function that it cannot make a command of."""
    alone = typer.Typer(add_completion=False)
    alone.command()(command)
    typer.main.get_command(alone)


def _broken(point: EntryPoint, error: Exception) -> Command:
    origin = "" if point.dist is None else f" of {point.dist.name}"
    reason = f"{point.value}{origin} cannot be imported: {type(error).__name__}: {error}"

    def report() -> None:
        typer.echo(f"The command {point.name} cannot run: {reason}. Install that distribution again.", err=True)
        raise typer.Exit(2)

    report.__doc__ = f"(cannot run: {reason})"
    return report
