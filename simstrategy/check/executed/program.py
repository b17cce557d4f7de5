"""A script as a program of a check: a function that reports and checkers treat like one of the file."""

import ast
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FunctionType
from typing import Any, Final, NamedTuple

from simstrategy.check.executed.running import Executed
from simstrategy.check.outcome import Program
from simstrategy.check.templates import REPLICAS, filled

__all__ = ["Library", "Script", "made_program", "require_arguments", "script_of"]

_SCRIPT: Final = "simstrategy_script"
"""The attribute by which the function of a script is known."""


class Script(NamedTuple):
    """What is known of a script that is a program.  arguments: as they are given, with expressions in braces."""

    arguments: tuple[str, ...]


class Library(NamedTuple):
    """How scripts of one library are executed.

    annotation: the type of what a run gives. count: returns how many replicas that has. changed: returns the tree that
    runs. run: executes it, with what a run gives and the arguments; returns the result.
    """

    annotation: str
    count: Callable[[Any], int]
    changed: Callable[[ast.Module], ast.Module]
    run: Callable[[Executed, Any, Sequence[str]], Any]


def made_program(library: Library, file: Path, tree: ast.Module, arguments: Sequence[str]) -> Program:
    """Returns a program whose runs execute a script.  tree: of the script; it is changed.

    Raises, when it runs, InvalidArgument for arguments that cannot be filled, and what `library.run` raises.
    """
    executed = Executed(file, library.changed(tree))

    def run(given: object) -> Any:
        return library.run(executed, given, filled(arguments, {REPLICAS: library.count(given)}) if arguments else ())

    def script(given: object) -> Any:
        return run(given)

    code = script.__code__.replace(co_filename=str(file))  # by which reports name a program
    space = {"__name__": f"script_{file.stem}", "__file__": str(file)}
    program = FunctionType(code, space, script.__name__, None, script.__closure__)
    program.__qualname__ = program.__name__  # of a function at the top level
    program.__annotations__ = {"given": library.annotation}
    vars(program)[_SCRIPT] = Script(tuple(arguments))
    return program


def require_arguments(program: Callable[..., Any], replicas: Sequence[int]) -> None:
    """Raises InvalidArgument for a script whose arguments cannot be filled for a number of replicas.

    So a wrong argument is an error before anything runs, as of scripts that a launcher starts.
    """
    script = script_of(program)
    if script is not None:
        for count in replicas:
            filled(script.arguments, {REPLICAS: count})


def script_of(program: Callable[..., Any]) -> Script | None:
    """Returns what is known of a program that is a script; None for a function of a file."""
    found = vars(program).get(_SCRIPT) if isinstance(program, FunctionType) else None
    return found if isinstance(found, Script) else None
