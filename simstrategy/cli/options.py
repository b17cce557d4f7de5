"""The options that several commands share: lists, schedules, profiles; and how an error ends a command."""

import ast
import dataclasses
import io
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.console import Console

from simstrategy.errors import SimStrategyError
from simstrategy.run import raised_where
from simstrategy.schedules import Every, InOrder, Schedule, Seeded
from simstrategy.sim import ORDERS, Cost
from simstrategy.strategy import PROFILES, Semantics

__all__ = [
    "Order",
    "clear_errors",
    "cost_of",
    "import_from_here",
    "named_reasons",
    "numbers",
    "one_schedule",
    "schedule_maker",
    "semantics_named",
    "text_of",
    "varied",
    "wide_console",
    "words",
]

_STDOUT: Final = 1
_CHARACTERS_MAX: Final = 10_000
"""Of one message."""


def words(text: str) -> list[str]:
    """Splits a comma-separated list."""
    return [word.strip() for word in text.split(",") if word.strip()]


def named_reasons(texts: Sequence[str]) -> dict[str, str]:
    """Splits texts such as ``history/noise=drawn on purpose``."""
    found = {}
    for text in texts:
        name, sign, reason = text.partition("=")
        if not sign:
            raise typer.BadParameter(f"{text!r} has no reason: write NAME=REASON")
        found[name.strip()] = reason.strip()
    return found


def varied(texts: Sequence[str]) -> dict[str, list[Any]]:
    """Splits texts such as ``accumulate=1,2,4``.  A value is a Python literal, or else a text."""
    found: dict[str, list[Any]] = {}
    for text in texts:
        name, sign, values = text.partition("=")
        if not sign or not words(values):
            raise typer.BadParameter(f"{text!r} names no values: write accumulate=1,2,4")
        found[name.strip()] = [_literal(word) for word in words(values)]
    return found


def cost_of(text: str) -> Cost:
    """Returns the costs that a text such as ``compute_s=0.01,slow=2:4,algorithm=ring,overlap=True`` declares.

    slow may come several times. Raises BadParameter for another name or form, and what `Cost` raises for a value.
    """
    found: dict[str, Any] = {}
    for word in words(text):
        name, sign, value = word.partition("=")
        if not sign or name not in _COSTS:
            raise typer.BadParameter(f"--cost: {word!r} is none of {', '.join(f'{one}=…' for one in _COSTS)}")
        if name != "slow":
            found[name] = _literal(value)
            continue
        rank, sign, factor = value.partition(":")
        if not sign:
            raise typer.BadParameter(
                f"--cost: {word!r} has no factor: write slow=2:4 for a replica 2 that takes 4 times"
            )
        found.setdefault("slow", {})[_literal(rank)] = _literal(factor)
    return Cost(**found)


_COSTS: Final = tuple(field.name for field in dataclasses.fields(Cost))


def _literal(word: str) -> Any:
    try:
        return ast.literal_eval(word)
    except (ValueError, SyntaxError):
        return word


def numbers(text: str) -> list[int]:
    """Splits a comma-separated list of positive numbers."""
    try:
        found = [int(word) for word in words(text)]
    except ValueError as error:
        raise typer.BadParameter(f"{text!r} is not a list of numbers such as 1,2,4") from error
    if any(number < 1 for number in found):
        raise typer.BadParameter(f"{text!r}: every number has to be at least 1")
    return found


def schedule_maker(text: str) -> Callable[[], Schedule] | Every:
    """Returns what makes the schedule `in-order` or `seeded:N`, or for `all:N` every schedule up to N."""
    if text == "in-order":
        return InOrder
    limit = re.fullmatch(r"all:([1-9][0-9]*)", text)
    if limit:
        return Every(int(limit[1]))
    found = re.fullmatch(r"seeded:(-?[0-9]+)", text)
    if found:
        return lambda: Seeded(int(found[1]))
    raise typer.BadParameter(f"{text!r} is not a schedule: write in-order, seeded:1 with any number, or all:100")


def one_schedule(text: str) -> Schedule:
    """Returns a schedule for one run."""
    made = schedule_maker(text)
    if isinstance(made, Every):
        raise typer.BadParameter(f"{text!r} names many schedules, and one run has one: write in-order, or seeded:1")
    return made()


def _order_named(text: str) -> str:
    """Returns the name of an order of additions."""
    if text not in ORDERS:
        raise typer.BadParameter(f"{text!r} is not an order of additions: choose from {', '.join(ORDERS)}")
    return text


Order = Annotated[str, typer.Option(help="Of the simulator's additions: linear, ring or tree.", callback=_order_named)]


def semantics_named(text: str) -> Semantics:
    """Returns the profile TF1_13, TF1_15 or TF2, in upper or lower case."""
    name = text.upper()
    if name not in PROFILES:
        raise typer.BadParameter(f"{text!r} is not a profile: choose from {', '.join(PROFILES)}")
    return PROFILES[name]


def wide_console() -> Console:
    """Returns a console that is 140 columns wide where the output is not a terminal, as in a log of CI.

    Characters that the output cannot encode are written as escapes.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    console = Console()
    return console if console.is_terminal else Console(width=140)


def import_from_here(backend: str) -> None:
    """Makes the current folder importable where `backend` is a `module:factory`, as `python -m` does."""
    if ":" in backend:
        sys.path.insert(0, str(Path.cwd()))


def text_of(value: object) -> str:
    """Returns the text of an error or a note, also of one that has none."""
    try:
        text = str(value)
    except Exception as error:  # noqa: BLE001 - of a user's class, whose text is to be shown
        return f"(its text cannot be shown: {type(error).__name__})"
    return text if len(text) <= _CHARACTERS_MAX else f"{text[:_CHARACTERS_MAX]} …"


@contextmanager
def clear_errors() -> Iterator[None]:
    """Ends the command with exit code 2 and the message, without a traceback, for every error.

    Of an error that is none of simstrategy's, the line that raised it stands below, where it is a user's.
    """
    try:
        yield
    except (typer.Exit, typer.Abort, typer.BadParameter, KeyboardInterrupt):
        raise
    except SystemExit as error:  # rich ends the process where its output was closed
        _finish_output()
        raise typer.Exit(2) from error
    except BaseException as error:
        with suppress(OSError, ValueError):  # where the output for errors is closed as well
            _report(error)
        _finish_output()
        raise typer.Exit(2) from error


def _report(error: BaseException) -> None:
    typer.echo(f"{type(error).__name__}: {text_of(error)}", err=True)
    notes = getattr(error, "__notes__", ())
    for note in notes if isinstance(notes, (list, tuple)) else (notes,):
        typer.echo(text_of(note), err=True)
    if not isinstance(error, SimStrategyError):
        typer.echo(raised_where(error, with_text=False), err=True)


def _finish_output() -> None:
    """Writes what is left, or drops it where that is impossible: else Python would report it in the end."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        with suppress(OSError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, _STDOUT)
            os.close(nowhere)
