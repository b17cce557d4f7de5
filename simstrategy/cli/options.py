"""The options that several commands share: lists, schedules, profiles; and how an error ends a command."""

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import typer
from rich.console import Console

from simstrategy.errors import SimStrategyError
from simstrategy.schedules import InOrder, Schedule, Seeded
from simstrategy.strategy import PROFILES, Semantics

__all__ = [
    "clear_errors",
    "import_from_here",
    "numbers",
    "schedule_maker",
    "semantics_named",
    "wide_console",
    "words",
]


def words(text: str) -> list[str]:
    """Splits a comma-separated list."""
    return [word.strip() for word in text.split(",") if word.strip()]


def numbers(text: str) -> list[int]:
    """Splits a comma-separated list of positive numbers."""
    try:
        found = [int(word) for word in words(text)]
    except ValueError as error:
        raise typer.BadParameter(f"{text!r} is not a list of numbers such as 1,2,4") from error
    if any(number < 1 for number in found):
        raise typer.BadParameter(f"{text!r}: every number has to be at least 1")
    return found


def schedule_maker(text: str) -> Callable[[], Schedule]:
    """Returns what makes the schedule `in-order` or `seeded:N`."""
    if text == "in-order":
        return InOrder
    found = re.fullmatch(r"seeded:(-?[0-9]+)", text)
    if found:
        return lambda: Seeded(int(found[1]))
    raise typer.BadParameter(f"{text!r} is not a schedule: write in-order, or seeded:1 with any number")


def semantics_named(text: str) -> Semantics:
    """Returns the profile TF1_13, TF1_15 or TF2, in upper or lower case."""
    name = text.upper()
    if name not in PROFILES:
        raise typer.BadParameter(f"{text!r} is not a profile: choose from {', '.join(PROFILES)}")
    return PROFILES[name]


def wide_console() -> Console:
    """Returns a console that is 140 columns wide where the output is not a terminal, as in a log of CI."""
    console = Console()
    return console if console.is_terminal else Console(width=140)


def import_from_here(backend: str) -> None:
    """Makes the current folder importable where `backend` is a `module:factory`, as `python -m` does."""
    if ":" in backend:
        sys.path.insert(0, str(Path.cwd()))


@contextmanager
def clear_errors() -> Iterator[None]:
    """Ends the command with exit code 2 and the message, without a traceback, for an error of simstrategy."""
    try:
        yield
    except SimStrategyError as error:
        typer.echo(f"{type(error).__name__}: {error}", err=True)
        for note in getattr(error, "__notes__", ()):
            typer.echo(note, err=True)
        raise typer.Exit(2) from error
