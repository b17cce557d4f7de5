"""Requests, events and the trace that collects them.

A request is what one replica asks of a meeting; an event is a request with who asked and where.
Nothing here compares replicas: that is `run/meeting.py`.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePath
from typing import Any, NamedTuple, final

from simstrategy import tree
from simstrategy.errors import InvalidArgument

__all__ = ["VERSION", "Event", "Request", "Site", "Trace", "describe_request", "describe_site", "write_events"]

VERSION = 1
_HEADER = {"format": "simstrategy-trace", "version": VERSION}

Site = tuple[str, int]
"""A call site: absolute file name and line."""


class Request(NamedTuple):
    """What a replica asks for.  Replicas that meet must ask for equal requests."""

    kind: str
    op: str | None
    axis: int | None
    subject: object
    """The merge function, variable or replica function meant, where there is one; its str is shown."""
    structure: tree.Structure | None
    leaves: tuple[tuple[tuple[int | None, ...], str], ...]
    """Shape and dtype of each array; None stands for a size that replicas may choose freely."""


class Event(NamedTuple):
    """One line of a trace.  `replica` is None for what a worker asks for outside replica functions."""

    worker: int
    replica: int | None
    kind: str
    op: str | None
    axis: int | None
    subject: str | None
    shapes: tuple[tuple[int | None, ...], ...]
    dtypes: tuple[str, ...]
    site: str

    def line(self) -> str:
        """Returns the event as canonical JSON."""
        return json.dumps(self._asdict(), sort_keys=True, separators=(",", ":"))


def describe_site(site: Site) -> str:
    """Writes a call site as file name and line."""
    return f"{PurePath(site[0]).name}:{site[1]}"


def describe_request(request: Request) -> str:
    """Writes a request as in ``all_reduce MEAN float32[2]``."""
    kind, op, axis, subject, structure, leaves = request
    words = [kind]
    words += [str(word) for word in (subject, op) if word is not None]
    if axis is not None:
        words.append(f"axis={axis}")
    if leaves:
        texts = [
            f"{dtype}[{','.join('?' if size is None else str(size) for size in shape)}]" for shape, dtype in leaves
        ]
        words.append(tree.describe(structure, texts))
    elif structure is not None:
        words.append(tree.describe(structure, []))
    return " ".join(words)


@final
class Trace:
    """Collects events; recording is one append a meeting, text is made when it is asked for.

    `root` is the program's folder: call sites inside it are written relative to it, others by file
    name alone.
    """

    __slots__ = ("_records", "root")

    def __init__(self, *, root: str | Path | None = None) -> None:
        self.root = None if root is None else str(root)
        self._records: list[tuple[int, Request, Sequence[int | None], Sequence[Site]]] = []

    def record(self, worker: int, request: Request, replicas: Sequence[int | None], sites: Sequence[Site]) -> None:
        """Adds one event per replica, in the order in which they came."""
        self._records.append((worker, request, replicas, sites))

    def events(self, *, worker: int | None = None) -> Iterator[Event]:
        """Yields the events in order, of one worker or of all."""
        for by, request, replicas, sites in self._records:
            if worker is None or by == worker:
                for replica, site in zip(replicas, sites, strict=True):
                    yield self._event(by, request, replica, site)

    def _event(self, worker: int, request: Request, replica: int | None, site: Site) -> Event:
        kind, op, axis, subject, _, leaves = request
        return Event(
            worker=worker,
            replica=replica,
            kind=kind,
            op=op,
            axis=axis,
            subject=None if subject is None else str(subject),
            shapes=tuple(shape for shape, _ in leaves),
            dtypes=tuple(dtype for _, dtype in leaves),
            site=f"{self._relative(site[0])}:{site[1]}",
        )

    def _relative(self, file: str) -> str:
        path = PurePath(file)
        if self.root is not None and path.is_relative_to(self.root):
            return path.relative_to(self.root).as_posix()
        return path.name

    def digest(self) -> str:
        """Returns the SHA-256 of all lines but the header."""
        import hashlib  # noqa: PLC0415 - its library is felt at every start, and few programs need it

        return hashlib.sha256("\n".join(event.line() for event in self.events()).encode()).hexdigest()

    def write(self, file: str | Path) -> None:
        """Writes the header and one JSON line per event."""
        write_events(file, self.events())

    @staticmethod
    def read(file: str | Path) -> list[Event]:
        """Reads what `write` wrote.  Raises InvalidArgument with the line that is not an event."""
        lines = Path(file).read_text(encoding="utf-8").splitlines()
        if not lines or _parse(lines[0], f"{file}:1") != _HEADER:
            raise InvalidArgument(
                f"{file} does not begin with the header of a trace of version {VERSION}. Write it with Trace.write."
            )
        return read_events(lines[1:], name=str(file), first_line=2)


def write_events(file: str | Path, events: Iterable[Event]) -> None:
    """Writes a trace file."""
    lines = [json.dumps(_HEADER, sort_keys=True), *(event.line() for event in events)]
    Path(file).write_text("\n".join(lines) + "\n", encoding="utf-8")


def read_events(lines: Iterable[str], *, name: str, first_line: int) -> list[Event]:
    """Parses canonical lines; `name` and `first_line` are for the error."""
    events = []
    for number, line in enumerate(lines, first_line):
        fields = _parse(line, f"{name}:{number}")
        try:
            shapes, dtypes = tuple(tuple(shape) for shape in fields["shapes"]), tuple(fields["dtypes"])
            events.append(Event(**(fields | {"shapes": shapes, "dtypes": dtypes})))
        except (KeyError, TypeError) as error:
            raise InvalidArgument(
                f"{name}:{number} is no event of a trace: it needs the fields {list(Event._fields)}."
            ) from error
    return events


def _parse(line: str, where: str) -> Any:
    try:
        return json.loads(line)
    except json.JSONDecodeError as error:
        raise InvalidArgument(f"{where} is not JSON ({error}). The file is damaged or no trace.") from error
