"""Who checks a program that takes another library's strategy: found by the type that the program says it takes.

    def program(strategy: tf.distribute.Strategy): ...   # checked by what is installed for `tensorflow`

A checker is an entry point of the group `simstrategy.checks`, named like the package that the type comes from, and is
imported only for such a program. Nothing here knows a framework, nor how a checker compares. See decision 0014.
"""

import importlib
import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, Protocol, get_type_hints

from simstrategy.check.outcome import Program
from simstrategy.check.report import Report, Row
from simstrategy.errors import BackendUnavailable

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["GROUP", "HINTS", "Checker", "checker_of"]

GROUP: Final = "simstrategy.checks"

HINTS: Final = {"tensorflow": "pip install simstrategy-witness"}
"""The line that brings each checker that we know of."""


def entry_points(*, group: str, name: str) -> Sequence["EntryPoint"]:
    """Returns what is installed by a name."""
    from importlib import metadata  # noqa: PLC0415 - slow to import, and few programs need it

    return tuple(metadata.entry_points(group=group, name=name))


class Checker(Protocol):
    """Runs a program with each number of replicas of its own library's strategy, and compares with the first."""

    def __call__(
        self, program: Program, *, replicas: Sequence[int], allow_errors: bool, on_row: Callable[[Row], None]
    ) -> Report:
        """Returns a row for each number of replicas, and tells `on_row` each as it comes."""


def checker_of(program: Program) -> Checker | None:
    """Returns who checks a program, or None for one that takes a strategy of ours, or does not say.

    Raises BackendUnavailable where a package is meant whose checker is not installed, or cannot be imported.
    """
    taken = _taken(program)
    package = "" if taken is None else taken.__module__.partition(".")[0]
    points = entry_points(group=GROUP, name=package) if package else ()
    if not points:
        if package in HINTS:
            raise BackendUnavailable(
                f"The program takes a strategy of {package}, and nothing is installed that checks such programs. "
                f"It comes with: {HINTS[package]}"
            )
        return None
    module, _, name = points[0].value.partition(":")
    try:
        checker: Checker = vars(importlib.import_module(module))[name]
    except (ImportError, KeyError) as error:
        hint = f" It comes with: {HINTS[package]}" if package in HINTS else ""
        raise BackendUnavailable(
            f"The program takes a strategy of {package}, and what checks such programs cannot be imported from "
            f"{points[0].value}: {error}.{hint}"
        ) from error
    return checker


def _taken(program: Program) -> type | None:
    """Returns the class that annotates the first parameter, if there is one."""
    try:
        first = next(iter(inspect.signature(program).parameters), None)
        hints = get_type_hints(program)
    except (TypeError, ValueError, NameError, AttributeError):
        return None  # no function, or names that only a type checker knows
    found = hints.get(first or "")
    return found if isinstance(found, type) else None
