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
from types import FrameType, ModuleType, TracebackType
from typing import Any, NamedTuple

from simstrategy.run.frames import is_library
from simstrategy_torch_distributed.hints import add_hint, worded

__all__ = ["Ending", "finish", "run_called", "run_function", "run_program", "unbuffered"]


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

    return run_called(run)


def run_function(target: str, *arguments: Any) -> Ending:
    """Calls a function of an installed module, "module:function", as `run_program` runs a program."""
    module, _, name = target.partition(":")
    return run_called(lambda: vars(importlib.import_module(module))[name](*arguments))


def run_called(run: Callable[[], str | None]) -> Ending:
    """Calls a function as `run_program` runs a program.  It may return a text that states how it ended."""
    try:
        text = run()
    except SystemExit as ending:
        code = _exit_code(ending)
        return Ending(code, "has ended" if code == 0 else f"called sys.exit({ending.code!r})")
    except BaseException as error:  # noqa: BLE001 - the end of the program, whatever it is
        add_hint(error)
        sys.excepthook(type(error), error, _from_program(error))
        return Ending(1, worded(error))
    return Ending(0, text or "has ended")


def _run_file(script: str) -> None:
    script = os.path.abspath(script)  # as Python does; only sys.argv has the name that was given
    main = ModuleType("__main__")
    main.__dict__.update(__file__=script, __builtins__=__builtins__, __cached__=None)
    sys.modules["__main__"] = main
    exec(compile(Path(script).read_bytes(), script, "exec"), main.__dict__)  # noqa: S102 - the program


def _from_program(error: BaseException) -> TracebackType | None:
    """Returns the traceback of an error without the frames that have started the program, runpy's too.

    From the first of the user's frames on; where there is none, as of an installed module, from the module's first.
    """
    found = _from(error.__traceback__, lambda frame: not is_library(frame) and not _has_started(frame))
    if found is None:
        found = _from(error.__traceback__, lambda frame: not _has_started(frame))
    error.__traceback__ = found
    return found


def _from(traceback: TracebackType | None, begins: Callable[[FrameType], bool]) -> TracebackType | None:
    while traceback is not None and not begins(traceback.tb_frame):
        traceback = traceback.tb_next
    return traceback


def _has_started(frame: FrameType) -> bool:
    """Returns whether a frame is of what starts programs: of this file or of runpy, which may be frozen."""
    return frame.f_code.co_filename in (__file__, runpy.__file__, "<frozen runpy>")


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
