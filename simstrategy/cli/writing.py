"""Writes one file of a command, whole or not at all; what prevents it is an error that names the option."""

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from simstrategy.errors import InvalidArgument

__all__ = ["write_text", "written"]


def write_text(option: str, file: Path, text: str) -> None:
    """Writes a file in place of what is there.  Raises InvalidArgument where it cannot; option: that named it."""
    error = written(option, file, text, adds=False)
    if error is not None:
        raise InvalidArgument(error)


def written(option: str, file: Path, text: str, *, adds: bool) -> str | None:
    """Writes one file; returns what prevented it, or None."""
    data = text.encode("utf-8", "backslashreplace")
    try:
        for target in _targets(file, adds=adds):
            _write(target, data, adds=adds)
    except (OSError, ValueError) as error:
        return f"{option}: {str(file)!r} was not written: {_reason(file, error)}."
    return None


def _targets(file: Path, *, adds: bool) -> Iterator[Path]:
    """Yields where to write: a file beside a regular one that takes its place, so that none is left half-written."""
    if adds or (file.exists() and not file.is_file()):
        yield file
        return
    file = file.resolve()  # a link stays a link
    beside = file.with_name(f"{file.name}.{os.getpid()}.part")
    try:
        yield beside
        beside.replace(file)
    finally:
        beside.unlink(missing_ok=True)


def _write(target: Path, data: bytes, *, adds: bool) -> None:
    # A pipe that no process reads would block: opened so, it is an error.
    flags = os.O_WRONLY | os.O_CREAT | os.O_NONBLOCK | (os.O_APPEND if adds else os.O_TRUNC)
    descriptor = os.open(target, flags, 0o666)
    with os.fdopen(descriptor, "wb") as stream:
        os.set_blocking(descriptor, True)
        there = os.fstat(descriptor)
        if adds and stat.S_ISREG(there.st_mode) and there.st_size:
            stream.write(b"\n")
        stream.write(data)


def _reason(file: Path, error: OSError | ValueError) -> str:
    if isinstance(error, OSError):
        if error.errno == errno.ENXIO:
            return "it is a pipe that no process reads, or a socket"
        if error.errno == errno.ENOENT:
            return f"there is no folder {str(file.parent)!r}. Make it first"
        return error.strerror or str(error)
    return str(error)
