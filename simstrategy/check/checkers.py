"""Finds the external checker of a program that takes another library's strategy, by the type of its parameter.

    def program(strategy: tf.distribute.Strategy): ...   # checked by the checker installed for `tensorflow`

A checker is an entry point of the group `simstrategy.checks`, named like the package that the type comes from, and is
imported only for such a program. Nothing here imports a framework or compares anything. See decision 0014.
"""

import importlib
import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, Protocol, get_type_hints

from simstrategy.check.outcome import Program
from simstrategy.check.report import Report
from simstrategy.check.row import Row
from simstrategy.device import install_advice
from simstrategy.errors import BackendUnavailable

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["GROUP", "HINTS", "Checker", "checker_of"]

GROUP: Final = "simstrategy.checks"

HINTS: Final = {"tensorflow": "pip install ./backends/tensorflow ./backends/tf_distribute"}
"""The command that installs each checker of this repository, in a checkout of it."""


def entry_points(*, group: str, name: str) -> Sequence["EntryPoint"]:
    """Returns the installed entry points of a name."""
    from importlib import metadata  # noqa: PLC0415 - slow to import, and few programs need it

    return tuple(metadata.entry_points(group=group, name=name))


class Checker(Protocol):
    """Runs a program with each number of replicas of its own library's strategy, and compares with the first."""

    def __call__(
        self, program: Program, *, replicas: Sequence[int], allow_errors: bool, on_row: Callable[[Row], None]
    ) -> Report:
        """Returns a row for each number of replicas, and passes each to `on_row` when it is ready."""


def checker_of(program: Program) -> Checker | None:
    """Returns a program's external checker; None for a program of simstrategy's strategies, or without a type.

    Raises BackendUnavailable where the checker of the type's package is not installed, or cannot be imported.
    """
    found = _annotated_class(program)
    package = "" if found is None else found.__module__.partition(".")[0]
    points = entry_points(group=GROUP, name=package) if package else ()
    if not points:
        if package in HINTS:
            raise BackendUnavailable(
                f"The program takes a strategy of {package}, and no checker for such programs is installed. "
                f"{install_advice(HINTS[package])}"
            )
        return None
    module, _, name = points[0].value.partition(":")
    try:
        checker: Checker = vars(importlib.import_module(module))[name]
    except (ImportError, KeyError) as error:
        hint = f" {install_advice(HINTS[package])}" if package in HINTS else ""
        raise BackendUnavailable(
            f"The program takes a strategy of {package}, and the checker of such programs cannot be imported from "
            f"{points[0].value}: {error}.{hint}"
        ) from error
    return checker


def _annotated_class(program: Program) -> type | None:
    """Returns the class that annotates the first parameter, or None."""
    try:
        first = next(iter(inspect.signature(program).parameters), None)
        hints = get_type_hints(program)
    except (TypeError, ValueError, NameError, AttributeError):
        return None  # no function, or names that exist for type checkers only
    found = hints.get(first or "")
    return found if isinstance(found, type) else None
