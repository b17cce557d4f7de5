"""Runs a script or module as Python does: as `__main__`, to the end of its threads and exit functions."""

import atexit
import importlib
import os
import runpy
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NamedTuple

from simstrategy.run.frames import is_library
from simstrategy.run.status import raised_where

__all__ = ["Ending", "finish", "run_program", "unbuffered"]


_NO_GPU: Final = (
    "Simulated ranks have no GPU: pass the backend gloo, or none, to init_process_group, or the option "
    "--device cpu-for-cuda."
)
_HINTS: Final = {
    "doesn't have NCCL built in": _NO_GPU,
    "doesn't have MPI built in": "Simulated ranks have no MPI: pass the backend gloo, or none, to init_process_group.",
    "EOF when reading a line": "A simulated rank has no input: pass what it needs as arguments of the script.",
    "Torch not compiled with CUDA enabled": (
        "Simulated ranks have the CPU alone: leave tensors and models there, or pass --device cpu-for-cuda."
    ),
}
"""What to do about an error that torch or Python words for real processes, by a part of its text."""


class Ending(NamedTuple):
    """How a program ended.  code: the exit code; text: for people."""

    code: int
    text: str


def run_program(script: str, arguments: list[str], *, is_module: bool) -> Ending:
    """Runs a program as `python SCRIPT …` or `python -m MODULE …` would; prints an error as Python does."""

    def run() -> None:
        sys.argv[:] = [script, *arguments]
        if is_module:
            sys.path[0:0] = [str(Path.cwd())]
            runpy.run_module(script, run_name="__main__", alter_sys=True)
        else:
            sys.path[0:0] = [str(Path(script).resolve().parent)]
            _run_file(script)

    return _ending_of(run)


def run_function(target: str, *arguments: Any) -> Ending:
    """Calls a function of an installed module, "module:function", as `run_program` runs a program."""
    module, _, name = target.partition(":")
    return _ending_of(lambda: vars(importlib.import_module(module))[name](*arguments))


def _ending_of(run: Callable[[], str | None]) -> Ending:
    """Returns how a program ends; run: runs it, and may return a text that states how it ended."""
    try:
        text = run()
    except SystemExit as ending:
        code = _exit_code(ending)
        return Ending(code, "has ended" if code == 0 else f"called sys.exit({ending.code!r})")
    except BaseException as error:  # noqa: BLE001 - the end of the program, whatever it is
        for part, hint in _HINTS.items():
            if part in str(error):
                error.add_note(hint)
        sys.excepthook(type(error), error, _from_program(error))
        return Ending(1, _worded(error))
    return Ending(0, text or "has ended")


def _run_file(script: str) -> None:
    script = os.path.abspath(script)  # as Python does; only sys.argv has the name that was given
    main = ModuleType("__main__")
    main.__dict__.update(__file__=script, __builtins__=__builtins__, __cached__=None)
    sys.modules["__main__"] = main
    exec(compile(Path(script).read_bytes(), script, "exec"), main.__dict__)  # noqa: S102 - the program


def _from_program(error: BaseException) -> Any:
    """Returns the traceback of an error without the frames that have started the program, runpy's too."""
    found = error.__traceback__
    while found is not None and (is_library(found.tb_frame) or found.tb_frame.f_code.co_filename == runpy.__file__):
        found = found.tb_next
    if found is not None:
        error.__traceback__ = found
    return error.__traceback__


def _worded(error: BaseException) -> str:
    """Returns an error as a line of text, with the hint that it was given."""
    notes = [note for note in _HINTS.values() if note in getattr(error, "__notes__", ())]
    return ". ".join([raised_where(error), *notes])


def _exit_code(ending: SystemExit) -> int:
    """Returns the exit code that Python would use, and prints the text that Python would print."""
    if ending.code is None:
        return 0
    if isinstance(ending.code, int):
        return ending.code & 0xFF
    sys.stderr.write(f"{ending.code}\n")
    return 1


def finish() -> None:
    """Waits for the program's threads, calls its exit functions and empties its streams, as the interpreter does."""
    with suppress(BaseException):
        threading._shutdown()  # type: ignore[attr-defined]  # noqa: SLF001 - as multiprocessing does in its children
    with suppress(BaseException):
        atexit._run_exitfuncs()  # noqa: SLF001 - there is no public way but to end the interpreter
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()


def unbuffered() -> None:
    """Makes what the program prints appear at once, as `python -u` does."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(write_through=True)  # type: ignore[union-attr]
