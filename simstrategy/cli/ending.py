"""How an error ends a command: a message and exit code 2, no traceback."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

import typer

from simstrategy.cli.leaving import finish_output
from simstrategy.errors import SimStrategyError
from simstrategy.short_repr import error_notes, error_text

__all__ = ["clear_errors", "text_of"]

_CHARACTERS_MAX: Final = 10_000
"""Of one message."""


def text_of(value: object) -> str:
    """Returns the text of an error or a note, cut where it is long, also of one that has none."""
    text = error_text(value)
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
        finish_output()
        raise typer.Exit(2) from error
    except BaseException as error:
        with suppress(OSError, ValueError):  # where the output for errors is closed as well
            _report(error)
        finish_output()
        raise typer.Exit(2) from error


def _report(error: BaseException) -> None:
    typer.echo(f"{type(error).__name__}: {text_of(error)}", err=True)
    for note in error_notes(error):
        typer.echo(text_of(note), err=True)
    if not isinstance(error, SimStrategyError):
        # The list of all commands comes without what runs need.
        from simstrategy.run import raised_where  # noqa: PLC0415

        typer.echo(raised_where(error, with_text=False), err=True)
