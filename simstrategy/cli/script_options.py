"""Which options of `check` are for scripts, such as torchrun's, and which for functions that take a strategy."""

from collections.abc import Mapping
from typing import Any, Final

from simstrategy.errors import InvalidArgument
from simstrategy.schedules import InOrder
from simstrategy.strategy import Semantics

__all__ = ["OF_FUNCTIONS", "OF_SCRIPTS", "require_no_script", "settings_of_script"]

OF_FUNCTIONS: Final[Mapping[str, Any]] = {
    "backends": ["sim"],
    "workers": [],
    "schedules": [InOrder],
    "semantics": Semantics.TF1_15,
    "function": "program",
    "compiled": False,
    "timeout_s": 600.0,
}
"""Options that a script does not have, with their defaults."""


def settings_of_script(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the settings that a script has.  Raises InvalidArgument for another one that was given."""
    given = [name for name, default in OF_FUNCTIONS.items() if settings[name] != default]
    if given:
        options = ", ".join("--timeout" if name == "timeout_s" else f"--{name}" for name in given)
        raise InvalidArgument(f"A script has no {options}: leave that out, or leave --as out for a function.")
    return {name: value for name, value in settings.items() if name not in OF_FUNCTIONS}


def require_no_script(given: Mapping[str, Any]) -> None:
    """Raises InvalidArgument for options of scripts that a function of a strategy does not have.

    given: same_output, faults, module and device; empty where they are left out.
    """
    for name, instead in OF_SCRIPTS.items():
        if given[name]:
            raise InvalidArgument(f"--{name.replace('_', '-')} is for scripts: add --as torchrun, or {instead}.")


OF_SCRIPTS: Final = {
    "same_output": "return the numbers from program",
    "faults": "give --laws faults",
    "module": "give the name of a file",
    "device": "name backends with --backends",
}
"""Options that scripts alone have, and what a function has in their place."""
