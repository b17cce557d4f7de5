"""Puts the commands together: this distribution's, and those that other distributions install."""

import gc
from collections.abc import Callable, Sequence
from functools import wraps
from importlib import import_module
from types import MappingProxyType
from typing import Any, Final, get_args

import typer
from typer.core import TyperCommand

from simstrategy.cli.commands import installed_commands
from simstrategy.cli.ending import clear_errors

__all__ = ["add_command", "app_for"]

_COMMANDS: Final = MappingProxyType(
    {
        "backends": "List the backends: what is installed, in which versions, and how to install the others.",
        "check": "Judge a program: compare its values, variables, errors and traces over replica counts and backends.",
        "conform": "Run the conformance kit on a backend.",
        "play": "Write a page in which to step through a run: replicas, synchronisation points, data, variables and "
        "source.",
        "recompute": "Compute the synchronisation points of a recording again, and compare to the bit.",
        "run": "Run a program and print what it returned.",
        "split": "Show which worker and replica gets which elements, under each policy, with warnings.",
    }
)
"""This distribution's commands, each in the module of its name, with the first line of its help.

The list is made of these lines: to import what all commands use takes longer than NumPy.
"""

_OF_SCRIPT: Final = "arguments"
"""The parameter of a command that takes the arguments of a script."""
_NO_OPTION: Final = "No such option: "
_USAGE_ERROR: Final[Any] = typer.BadParameter.__base__
"""Of click, or of the copy that newer versions of typer have of it."""


def app_for(arguments: Sequence[str]) -> typer.Typer:
    """Returns the command line for these arguments: it runs the command that they name, and lists the others.

    It holds the installed commands too, where the arguments name one or ask for the list of all commands: to find
    and import them takes time, and this distribution's commands do not need them.
    """
    made = typer.Typer(
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        help="tf.distribute.Strategy's semantics as a specification that runs.",
    )
    named = next((one for one in arguments if not one.startswith("-")), "")
    for name, line in _COMMANDS.items():
        add_command(made, name, _imported(name) if name == named else _listed(line))
    first = arguments[0] if arguments else "--help"
    if first not in _COMMANDS:
        for name, command in installed_commands(None if first.startswith("-") else first):
            if name not in _COMMANDS:
                add_command(made, name, command)
    return made


def _imported(name: str) -> Callable[..., Any]:
    command: Callable[..., Any] = vars(import_module(f"simstrategy.cli.{name}"))[name]
    return command


def _listed(line: str) -> Callable[..., Any]:
    """Returns a command that is listed and not run."""

    def listed() -> None: ...

    listed.__doc__ = line
    return listed


def add_command(made: typer.Typer, name: str, command: Callable[..., Any]) -> None:
    """Adds a command, which ends with a message for every error.

    One with a list of texts as its arguments, such as a program and what is for it, takes all that follows the first of
    them as it is.
    """
    takes_rest = any(list[str] in get_args(one) for one in command.__annotations__.values() if _is_argument(one))
    settings = {"allow_interspersed_args": not takes_rest}
    made.command(name, cls=_Command, context_settings=settings)(_ending_clearly(command))


class _Command(TyperCommand):
    """A command that states where the arguments of a script stand, where it takes some and has not such an option."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        try:
            return TyperCommand.parse_args(self, ctx, args)
        except _USAGE_ERROR as error:
            takes_some = any(one.name == _OF_SCRIPT and one.nargs == -1 for one in self.params)
            if takes_some and error.message.startswith(_NO_OPTION):
                option = error.message.removeprefix(_NO_OPTION)
                error.message += f". Arguments of the script come after --, as in: train.py -- {option}"
            raise


def _is_argument(annotation: Any) -> bool:
    return any(isinstance(one, typer.models.ArgumentInfo) for one in get_args(annotation))


def _ending_clearly(command: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a command that ends with a message and exit code 2 for every error, and with no traceback."""

    @wraps(command)
    def run(*arguments: Any, **options: Any) -> Any:
        gc.enable()
        with clear_errors():
            return command(*arguments, **options)

    return run
