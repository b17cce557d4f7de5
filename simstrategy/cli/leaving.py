"""How the process ends: not without a verdict, and not later than the threads of the program that can go on."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Final, NoReturn, TextIO

__all__ = ["exits_named", "finish_output", "is_flushed", "leave"]

_LEFT: Final = (
    "The program has ended, and has left threads that wait for what never comes:\n{lines}\n"
    "Python would wait for them. This process ends without them. End them in the program, or start them as daemons.\n"
)

_EXITED: Final = (
    "The program ended this process by os._exit({code}), so nothing was judged. Let it return, or raise SystemExit "
    "in place of it.\n"
)
_NOT_JUDGED: Final = 2
_STDOUT: Final = 1


@contextmanager
def exits_named() -> Iterator[None]:
    """Names a program that ends this process by `os._exit` while the block runs; the exit code is 2 then.

    Processes that the program forks end as they like.
    """
    process, end = os.getpid(), os._exit
    error = -1
    with suppress(OSError):  # it was closed
        error = os.dup(2)

    def named(code: int) -> NoReturn:
        if os.getpid() != process:
            end(code)
        with suppress(OSError):
            os.write(error, _EXITED.format(code=code).encode())
        end(_NOT_JUDGED)

    vars(os)["_exit"] = named
    try:
        yield
    finally:
        vars(os)["_exit"] = end
        with suppress(OSError):
            os.close(error)


def leave(code: object) -> None:
    """Is called when a command has ended: the process ends with its exit code, whatever threads the program has left.

    A thread that may go on is waited for, as Python does.
    """
    if "simstrategy.run" not in sys.modules:
        return  # no program has run, as for the list of all commands, which comes without what runs need
    from simstrategy.run import when_left_for_ever  # noqa: PLC0415

    when_left_for_ever(partial(_end, code if isinstance(code, int) else int(code is not None)))


def finish_output() -> bool:
    """Writes what is left of the output; returns whether standard output took it.

    What it does not take is dropped: Python would report it in the end, with an exit code of its own.
    """
    left = [number for number, stream in enumerate((sys.stdout, sys.stderr), start=1) if not is_flushed(stream)]
    for number in left:
        with suppress(OSError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            if nowhere != number:  # which it is where the stream was closed
                os.dup2(nowhere, number)
                os.close(nowhere)
    return _STDOUT not in left


def is_flushed(stream: TextIO | None) -> bool:
    """Writes what a stream keeps back; returns False where it is closed or full, or an object that cannot do that."""
    try:
        if stream is not None:  # it is where the process has begun without it
            stream.flush()
    except Exception:  # noqa: BLE001 - the program may have put any object in its place
        return False
    return True


def _end(code: int, lines: list[str]) -> None:
    sys.stderr.write(_LEFT.format(lines="\n".join(lines)))
    finish_output()
    os._exit(code)
