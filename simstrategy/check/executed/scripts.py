"""Which scripts are programs as a whole."""

import ast
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from simstrategy.check.executed.meshes import OF_MESHES, uses_devices
from simstrategy.check.executed.mirrored import MIRRORED, makes_mirrored
from simstrategy.check.executed.program import made_program
from simstrategy.check.outcome import Program

__all__ = ["is_executed", "script_in"]

_KINDS: Final = ((makes_mirrored, MIRRORED), (uses_devices, OF_MESHES))


def is_executed(tree: ast.Module) -> bool:
    """Returns whether a script is a program as a whole."""
    return any(is_one(tree) for is_one, _ in _KINDS)


def script_in(file: Path, tree: ast.Module, arguments: Sequence[str]) -> Program | None:
    """Returns a program whose runs execute a script with these arguments; None for one that is none.

    tree: of the script; it is changed where it is one.
    """
    for is_one, library in _KINDS:
        if is_one(tree):
            return made_program(library, file, tree, arguments)
    return None
