"""Loads a program from a Python file."""

import importlib.util
import re
import stat
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from simstrategy.check.executed import is_executed, script_in
from simstrategy.check.outcome import Program
from simstrategy.check.sources import LAUNCHED, MOSTLY_READ, imported_by, lacks, parsed, strategy_of
from simstrategy.device import INSTALL_HINTS, install_advice
from simstrategy.errors import BackendUnavailable, InvalidArgument

__all__ = ["DEFAULT_FUNCTION", "load_program", "require_launched"]

_BRINGS: Final = {
    "tensorflow": INSTALL_HINTS["tensorflow"],
    "keras": INSTALL_HINTS["tensorflow"],
    "torch": INSTALL_HINTS["torch"],
    "jax": INSTALL_HINTS["xla"],
    "sklearn": "pip install '.[examples]'",
}
"""The command that installs a library which programs import, in a checkout."""

_MESH: Final = "mesh: jax.sharding.Mesh"
"""The parameter of a program of JAX."""

_PARAMETERS: Final = (
    (b"tf.distribute", "strategy: tf.distribute.Strategy"),
    (b"import jax", _MESH),
    (b"from jax", _MESH),
)
"""What a script of another library has in it, and the parameter of a program for that library."""

_SCRIPTS: Final = (b"init_process_group", b"MirroredStrategy", *[sign for sign, _ in _PARAMETERS])
"""What a script has in it that trains when it is executed."""

_BESIDE: Final = re.compile(rb"^\s*import .*\bjax\b", re.MULTILINE)
"""How a script imports JAX in one line with others."""

_LAUNCHED: Final = ("as torchrun starts it", "torchrun")
_SPAWNING: Final = ("with the ranks that it spawns", "python")
"""How a script of torch.distributed is checked, and what starts it then."""

_HAS_PROGRAMS: Final = re.compile(rb"^(\s*)def (\w+)\(\s*(strategy|mesh)\b\s*(:?)", re.MULTILINE)

_SCRIPT: Final = (
    "Move what the script does into `def {function}({parameter})` at the top level, take the {name} that it is given "
    "in place of one that the script makes, and return losses and weights. For a function of another name give "
    "--function."
)


DEFAULT_FUNCTION: Final = "program"
"""The name of the function that is asked for where none is given."""


def load_program(file: str | Path, function: str = DEFAULT_FUNCTION, arguments: Sequence[str] = ()) -> Program:
    """Returns a function of a Python file, which is executed with its folder on the import path.

    A script of TensorFlow or JAX that makes its own devices' strategy or mesh is a program as a whole (J-116, J-117).
    arguments: of such a script. Another script whose text does not have the function's name is not executed (J-109).
    Raises InvalidArgument for a missing file or function, and for arguments that nothing takes; BackendUnavailable
    where the file imports the library of a backend that is not installed, and whatever else the file raises.
    """
    path = _regular_file(file, function)
    spec = importlib.util.spec_from_file_location(f"program_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise InvalidArgument(f"{file} is not a Python file. Give one that defines {function}(strategy).")
    script = _script_in(path, function, arguments)
    if script is not None:
        _import_beside(path)
        return script
    if arguments:
        raise InvalidArgument(
            f"{file} is no script that a check executes whole, and a function {function}(strategy) takes no arguments "
            f"of the command line, got {' '.join(arguments)}. For a script that torchrun starts, add --as torchrun."
        )
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    _import_beside(path)
    try:
        spec.loader.exec_module(module)
    except SystemExit as error:
        raise InvalidArgument(
            f"{file} called sys.exit({error.code!r}) while it was loaded, so {function}(strategy) has not run. Call it "
            f"under `if __name__ == '__main__':`."
        ) from error
    except SyntaxError as error:
        place = f"{error.filename or file}{f':{error.lineno}' if error.lineno else ''}"
        raise InvalidArgument(f"{place} is not Python: {error.msg}. Correct the file.") from error
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
        raise _undefined(path, file, function)
    program: Program = found
    return program


def _script_in(path: Path, function: str, arguments: Sequence[str]) -> Program | None:
    """Returns the program that a script is as a whole; None for a file that may define the function.

    Raises InvalidArgument for another script: it would train before it is refused.
    """
    source = path.read_bytes()
    is_one = any(sign in source for sign in _SCRIPTS) or _BESIDE.search(source)
    tree = parsed(source) if is_one else None
    if tree is None:
        return None
    if function == DEFAULT_FUNCTION and lacks(tree, function, unless=MOSTLY_READ):
        script = script_in(path, tree, arguments)
        if script is not None:
            return script
    if lacks(tree, function):
        raise _undefined(path, path, function)
    return None


def _import_beside(path: Path) -> None:
    """Puts the folder of a file on the import path, as Python does for a script."""
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))


def require_launched(file: str | Path, launcher: str) -> None:
    """Raises InvalidArgument for a script of tf.distribute or JAX: the launcher would start processes that do nothing.

    launcher: as of `--as`. What is no file is left to the launcher.
    """
    path = Path(file)
    tree = parsed(path.read_bytes()) if path.is_file() else None
    if tree is None or imported_by(tree) & LAUNCHED:
        return
    made = strategy_of(tree)
    whole = is_executed(tree)
    if made is None and not whole:
        return
    what = f"{file} makes its {made or 'strategy or mesh'} itself, whose replicas --as {launcher} does not start."
    if whole:
        raise InvalidArgument(f"{what} To check it whole, leave --as out: simstrategy check {file}")
    parameter = _PARAMETERS[0][1]
    advice = _SCRIPT.format(function=DEFAULT_FUNCTION, parameter=parameter, name=parameter.partition(":")[0])
    raise InvalidArgument(f"{what} Leave --as out. {advice}")


def _undefined(path: Path, file: str | Path, function: str) -> InvalidArgument:
    advice = _advice(path, file, function)
    return InvalidArgument(f"{file} defines no function {function}(strategy). {advice}")


def _advice(path: Path, file: str | Path, function: str) -> str:
    """Returns what to do with a file that does not define the function, by the library that it names."""
    source = path.read_bytes()
    if b"init_process_group" in source:
        how, launcher = _SPAWNING if b".spawn(" in source else _LAUNCHED
        return f"To check it whole, {how}: simstrategy check --as {launcher} {file}"
    programs = _HAS_PROGRAMS.findall(source)
    for sign, parameter in () if programs else _PARAMETERS:
        if sign in source:
            return _SCRIPT.format(function=function, parameter=parameter, name=parameter.partition(":")[0])
    for space, name, parameter, colon in programs:
        if not space.strip(b"\r\n") and name.decode() != function:
            advice = f"For its {name.decode()}({parameter.decode()}) give --function {name.decode()}"
            untyped = parameter == b"mesh" and not colon
            return f"{advice}, and annotate the parameter: {_MESH}." if untyped else f"{advice}."
    return f"Define it at the top level{f', as def {function}({_MESH})' if b'import jax' in source else ''}."


def _regular_file(file: str | Path, function: str) -> Path:
    """Returns the path of a file without links.  Raises InvalidArgument for what is no file, such as a pipe."""
    advice = f"Give a Python file that defines {function}(strategy)."
    try:
        path = Path(file).resolve(strict=True)
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError) as error:
        raise InvalidArgument(f"There is no file at {str(file)!r}. {advice}") from error
    except (OSError, RuntimeError, ValueError) as error:  # a loop of links, a name that no file can have
        reason = error.strerror if isinstance(error, OSError) else error
        raise InvalidArgument(f"There is no file at {str(file)!r} ({reason}). {advice}") from error
    if not stat.S_ISREG(mode):  # a pipe would block
        raise InvalidArgument(f"There is no file at {str(file)!r}: it is a folder, a pipe or a device. {advice}")
    return path
