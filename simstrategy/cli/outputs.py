"""The files of commands: where the results go besides the terminal.

They are written when the results are shown, whatever the verdict. A file that cannot be written is an error with the
reason, and the others are written all the same.
"""

import errno
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from simstrategy.check import Report
from simstrategy.check.formats import Played, as_json, as_junit, as_markdown, as_page
from simstrategy.errors import InvalidArgument

__all__ = ["PAGE", "Output", "outputs_of", "write_outputs", "write_text"]


class Output(NamedTuple):
    """One file.  option: how it was asked for. adds: to what is there."""

    option: str
    file: Path
    adds: bool


_FORMS: Final[Mapping[str, Callable[[Report], str]]] = {
    "--json": as_json,
    "--junit": as_junit,
    "--markdown": as_markdown,
}
PAGE: Final = "--html"
_ADDING: Final = frozenset({"--markdown"})
"""A summary of a CI job is one file for all commands of a step."""


def outputs_of(files: Mapping[str, Path | None]) -> list[Output]:
    """Returns the outputs that options name, with full paths: a program may change the current folder."""
    return [
        Output(option, Path(os.path.abspath(file)), option in _ADDING)
        for option, file in files.items()
        if file is not None
    ]


def write_outputs(report: Report, outputs: Sequence[Output], shown: Played) -> None:
    """Writes each file; shown: the runs of the page.

    Raises InvalidArgument that names all that could not be written, when the others are.
    """
    forms: dict[str, Callable[[Report], str]] = {**_FORMS, PAGE: partial(as_page, shown=shown)}
    written = [_written(one.option, one.file, forms[one.option](report), adds=one.adds) for one in outputs]
    errors = [text for text in written if text is not None]
    if errors:
        raise InvalidArgument("\n".join(errors))


def write_text(option: str, file: Path, text: str) -> None:
    """Writes a file in place of what is there.  Raises InvalidArgument where it cannot; option: that named it."""
    error = _written(option, file, text, adds=False)
    if error is not None:
        raise InvalidArgument(error)


def _written(option: str, file: Path, text: str, *, adds: bool) -> str | None:
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
