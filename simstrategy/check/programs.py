"""Loads a program from a Python file."""

import importlib.util
import sys
from pathlib import Path
from typing import Any, Final

from simstrategy.check.outcome import Program
from simstrategy.device import INSTALL_HINTS, install_advice
from simstrategy.errors import BackendUnavailable, InvalidArgument

__all__ = ["load_program"]

_BRINGS: Final = {
    "tensorflow": INSTALL_HINTS["tensorflow"],
    "keras": INSTALL_HINTS["tensorflow"],
    "torch": INSTALL_HINTS["torch"],
    "jax": INSTALL_HINTS["xla"],
    "sklearn": "pip install '.[examples]'",
}
"""The command that installs a library which programs import, in a checkout."""


def load_program(file: str | Path, function: str = "program") -> Program:
    """Returns a function of a Python file, which is executed with its folder on the import path.

    Raises InvalidArgument for a missing file or function, BackendUnavailable where the file imports the library of a
    backend that is not installed, and whatever else the file raises.
    """
    path = Path(file).resolve()
    if not path.is_file():
        raise InvalidArgument(
            f"There is no file at {str(file)!r}. Give a Python file that defines {function}(strategy)."
        )
    spec = importlib.util.spec_from_file_location(f"program_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise InvalidArgument(f"{file} is not a Python file. Give one that defines {function}(strategy).")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        raise InvalidArgument(
            f"{error.filename}:{error.lineno} is not Python: {error.msg}. Correct the file."
        ) from error
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        hint = _BRINGS.get(package)
        if hint is None:
            raise
        raise BackendUnavailable(
            f"{file} imports {package}, which is not installed here. {install_advice(hint)}"
        ) from error
    found: Any = vars(module).get(function)
    if not callable(found):
        raise InvalidArgument(f"{file} defines no function {function}(strategy). Define it at the top level.")
    program: Program = found
    return program
