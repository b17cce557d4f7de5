"""Puts the commands together: this distribution's, and those that other distributions install."""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, Final, get_args

import typer

from simstrategy.cli.backends import backends
from simstrategy.cli.check import check
from simstrategy.cli.commands import installed_commands
from simstrategy.cli.conform import conform
from simstrategy.cli.options import clear_errors
from simstrategy.cli.play import play
from simstrategy.cli.recompute import recompute
from simstrategy.cli.run import run
from simstrategy.cli.split import split

__all__ = ["add_command", "app", "app_for"]

_COMMANDS: Final[dict[str, Callable[..., Any]]] = {
    one.__name__: one for one in (backends, check, conform, play, recompute, run, split)
}


def app_for(arguments: Sequence[str]) -> typer.Typer:
    """Returns the command line for these arguments.

    It holds the installed commands too, where the arguments name one or ask for the list of all commands: to find
    and import them takes time, and this distribution's commands do not need them.
    """
    made = typer.Typer(
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        help="tf.distribute.Strategy's semantics as a specification that runs.",
    )
    for name, command in _COMMANDS.items():
        add_command(made, name, command)
    first = arguments[0] if arguments else "--help"
    if first not in _COMMANDS:
        for name, command in installed_commands(None if first.startswith("-") else first):
            if name not in _COMMANDS:
                add_command(made, name, command)
    return made


def add_command(made: typer.Typer, name: str, command: Callable[..., Any]) -> None:
    """Adds a command, which ends with a message for every error.

    One with a list of texts as its arguments, such as a program and what is for it, takes all that follows the first of
    them as it is.
    """
    takes_rest = any(list[str] in get_args(one) for one in command.__annotations__.values() if _is_argument(one))
    made.command(name, context_settings={"allow_interspersed_args": not takes_rest})(_ending_clearly(command))


def _is_argument(annotation: Any) -> bool:
    return any(isinstance(one, typer.models.ArgumentInfo) for one in get_args(annotation))


def _ending_clearly(command: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a command that ends with a message and exit code 2 for every error, and with no traceback."""

    @wraps(command)
    def run(*arguments: Any, **options: Any) -> Any:
        with clear_errors():
            return command(*arguments, **options)

    return run


app = app_for(["check"])
"""This distribution's commands alone."""
