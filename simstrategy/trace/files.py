"""Recordings in files: JSON lines, the header first, written as the events come, and read again, also of version 1.

A line is flushed when an event has happened, so a run that is killed leaves a file that can be read up to there.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, Final, final

from simstrategy.errors import InvalidArgument
from simstrategy.trace.events import VERSION as VERSION_OF_EVENTS
from simstrategy.trace.events import file_failed, file_path, parse, read_events
from simstrategy.trace.lines import of_events, recording_of
from simstrategy.trace.recording import Recording

__all__ = ["VERSION", "LineFile", "header_of", "read"]

VERSION: Final = 2
_FORMAT: Final = "simstrategy-trace"
_LATER: Final = frozenset(("value", "draws", "end"))
_encode: Final = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


@final
class LineFile:
    """Writes the lines of one recording.  Raises InvalidArgument where the file cannot be made.

    A disk that is full does not end the program that is recorded: writing stops, and `close` raises.
    """

    __slots__ = ("_failed", "_stream", "name")

    def __init__(self, file: str | Path) -> None:
        self.name = file_path(file)
        self._failed: OSError | None = None
        self._stream: IO[str] | None = None
        try:
            # What is in the file stays until there is something to write.
            self.name.open("a", encoding="ascii").close()
        except (OSError, ValueError) as error:
            raise file_failed(file, "written", error) from error

    def put(self, line: Mapping[str, Any]) -> None:
        """Writes a line; what another one follows at once goes with that one."""
        if self._failed is not None:
            return
        try:
            if self._stream is None:
                self._stream = self.name.open("w", encoding="ascii", newline="\n")
            self._stream.write(_text(line))
            if not _LATER & line.keys() or "error" in line:
                self._stream.flush()
        except OSError as error:
            self._failed = error

    def close(self) -> None:
        """Ends the file.  Raises InvalidArgument where not all could be written."""
        try:
            if self._stream is not None:
                self._stream.close()
        except OSError as error:
            self._failed = self._failed or error
        if self._failed is not None:
            raise file_failed(self.name, "written to its end", self._failed) from self._failed


def _text(line: Mapping[str, Any]) -> str:
    """Returns a line as JSON.  The most frequent lines, which have no text that needs an escape, take a shorter way."""
    if "data" in line:
        shape = ",".join(map(str, line["shape"]))
        return f'{{"value":{line["value"]},"dtype":"{line["dtype"]}","shape":[{shape}],"data":"{line["data"]}"}}\n'
    if "end" in line and "error" not in line:
        out = f',"out":{str(line["out"]).replace(" ", "")}' if "out" in line else ""
        return f'{{"end":{line["end"]}{out}}}\n'
    return _encode(line) + "\n"


def header_of(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the first line of a recording with these facts, in an order of their own."""
    return {"format": _FORMAT, "version": VERSION, **{name: facts[name] for name in sorted(facts)}}


def read(file: str | Path) -> Recording:
    """Reads a recording, or a trace of version 1, whose events become points without arrays.

    A last line that is cut off is left out; `complete` is False then. Raises InvalidArgument for a file of a newer
    version, for one that is none, and with the number of a line that is damaged.

    >>> import simstrategy as ss
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     ss.trace.Recorder(f"{folder}/empty.jsonl").close()
    ...     read(f"{folder}/empty.jsonl").complete
    True
    """
    path = file_path(file)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise file_failed(file, "read", error) from error
    lines = text.split("\n")
    lines.pop()  # what follows the last end of a line: nothing, or a line that was cut off
    header = parse(lines[0], f"{file}:1") if lines else None
    if not isinstance(header, dict) or header.get("format") != _FORMAT or not isinstance(header.get("version"), int):
        raise InvalidArgument(
            f"{file} does not begin with the header of a recording. Write it with simstrategy run --record FILE, or "
            f"ss.trace.Recorder(FILE)."
        )
    if header["version"] == VERSION_OF_EVENTS:
        return of_events(header, read_events(lines[1:], name=str(file), first_line=2))
    if header["version"] != VERSION:
        raise InvalidArgument(
            f"{file} is a recording of version {header['version']}, and this simstrategy reads versions up to "
            f"{VERSION}. Install a newer simstrategy, or record the program again."
        )
    return recording_of(header, _parsed(lines[1:], str(file)), name=str(file))


def _parsed(lines: list[str], name: str) -> Iterator[Any]:
    for number, line in enumerate(lines, 2):
        yield parse(line, f"{name}:{number}")
