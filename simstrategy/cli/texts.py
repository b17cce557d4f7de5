"""What commands read from texts and print: lists, numbers, named values; and what they import.

Nothing here needs more than the standard library, typer and rich: the list of all commands comes without the rest.
"""

import ast
import io
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

__all__ = ["import_from_here", "literal", "named_reasons", "numbers", "varied", "wide_console", "words"]


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
        found[name.strip()] = [literal(word) for word in words(values)]
    return found


def literal(word: str) -> Any:
    """Returns the value of a Python literal, or else the text."""
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
