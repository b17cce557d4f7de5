"""Finds the external checker of a program that takes another library's strategy, by the type of its parameter.

    def program(strategy: tf.distribute.Strategy): ...   # checked by the checker installed for `tensorflow`

A checker is an entry point of the group `simstrategy.checks`, named like the package that the type comes from, and is
imported only for such a program. Nothing here imports a framework or compares anything. See decision 0014.
"""

import importlib
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, Protocol

from simstrategy.check.annotations import Foreign, foreign_annotation
from simstrategy.check.outcome import Program
from simstrategy.check.report import Report
from simstrategy.check.row import Row
from simstrategy.check.runs import Settings
from simstrategy.device import install_advice
from simstrategy.errors import BackendUnavailable, InvalidType
from simstrategy.trace import describe_site

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["GROUP", "HINTS", "Checker", "checker_of"]

GROUP: Final = "simstrategy.checks"

HINTS: Final = {
    "tensorflow": "pip install ./backends/tensorflow ./backends/tf_distribute",
    "jax": "pip install ./backends/xla",
}
"""The command that installs each checker of this repository, in a checkout of it."""


def entry_points(*, group: str, name: str) -> Sequence["EntryPoint"]:
    """Returns the installed entry points of a name."""
    from importlib import metadata  # noqa: PLC0415 - slow to import, and few programs need it

    return tuple(metadata.entry_points(group=group, name=name))


class Checker(Protocol):
    """Runs a program with each number of replicas of its own library's strategy, and compares with the first."""

    def __call__(
        self,
        program: Program,
        *,
        replicas: Sequence[int],
        settings: Settings,
        laws: Sequence[str],
        require: Sequence[str],
        on_row: Callable[[Row], None],
    ) -> Report:
        """Returns what `judging.judge_runs` makes of the program's runs.

        settings: errors that are allowed, exemptions, numbers of workers, and the laws that were asked for. laws: the
        names of those that may be judged, of `laws.OF_REPEATED`. require: what must have been tried. on_row: receives
        each row when it is ready.
        """


def checker_of(program: Program) -> Checker | None:
    """Returns a program's external checker; None for a program of simstrategy's strategies, or without a type.

    Raises BackendUnavailable where the checker of the type's package is not installed, or cannot be imported, and
    InvalidType for any other type that `simstrategy.Strategy` does not satisfy.
    """
    foreign = foreign_annotation(program)
    if foreign is None:
        return None
    package = foreign.package
    points = entry_points(group=GROUP, name=package) if package else ()
    if not points:
        if package in HINTS:
            raise BackendUnavailable(
                f"The program takes an object of {package}, and no checker for such programs is installed. "
                f"{install_advice(HINTS[package])}"
            )
        raise _not_understood(foreign)
    module, _, name = points[0].value.partition(":")
    try:
        checker: Checker = vars(importlib.import_module(module))[name]
    except (ImportError, KeyError) as error:
        hint = f" {install_advice(HINTS[package])}" if package in HINTS else ""
        raise BackendUnavailable(
            f"The program takes an object of {package}, and the checker of such programs cannot be imported from "
            f"{points[0].value}: {error}.{hint}"
        ) from error
    return checker


def _not_understood(foreign: Foreign) -> InvalidType:
    where = f" at {describe_site(foreign.site)}" if foreign.site else ""
    package = foreign.package
    checked = f"no installed checker runs programs with a type of {package}"
    if not package:
        checked = "no import of its file shows from which package"
    if foreign.lacks:
        checked = f"simstrategy.Strategy lacks {', '.join(foreign.lacks)} of that protocol"
    advice = "Annotate it with simstrategy.Strategy, or leave the type out, where the program takes our strategy"
    if package not in sys.stdlib_module_names | {"", "simstrategy", foreign.home} and not foreign.lacks:
        advice += f"; else install a distribution that has an entry point {package!r} in the group {GROUP!r}"
    return InvalidType(
        f"The first parameter of the program{where}, {foreign.parameter!r}, has the type {foreign.text}, and {checked}."
        f" {advice}."
    )
