"""Finds the front of a launcher by name: an entry point of the group `simstrategy.scripts`, imported when it is used.

A front runs scripts as a launcher of another library does. Nothing here imports a framework.
"""

import importlib
from importlib.metadata import entry_points
from typing import Final

from simstrategy.check.scripts.facts import Front
from simstrategy.device import install_advice
from simstrategy.errors import BackendUnavailable, InvalidArgument

__all__ = ["GROUP", "HINTS", "front_named"]

GROUP: Final = "simstrategy.scripts"

HINTS: Final = dict.fromkeys(("python", "torchrun"), "pip install ./backends/torch_distributed")
"""The command that installs each front of this repository, in a checkout of it."""


def front_named(name: str) -> Front:
    """Returns the front of this name.

    Raises BackendUnavailable where its distribution is not installed, or cannot be imported, and InvalidArgument for a
    name that no distribution has.
    """
    points = {point.name: point for point in entry_points(group=GROUP)}
    hint = f" {install_advice(HINTS[name])}" if name in HINTS else ""
    if name not in points and name in HINTS:
        raise BackendUnavailable(f"No distribution that runs scripts of {name} is installed.{hint}")
    if name not in points:
        known = ", ".join(sorted({*points, *HINTS}))
        raise InvalidArgument(f"There is no {name!r} that runs scripts: choose from {known}.")
    module, _, function = points[name].value.partition(":")
    try:
        front: Front = vars(importlib.import_module(module))[function]
    except (ImportError, KeyError) as error:
        raise BackendUnavailable(
            f"What runs scripts of {name} cannot be imported from {points[name].value}: {error}.{hint}"
        ) from error
    return front
