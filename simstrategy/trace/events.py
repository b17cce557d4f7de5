"""Requests, events, and the trace that collects them.

A request describes a call at a synchronisation point. An event is a request with its replica and its call site.
The requests of replicas are compared in `simstrategy/run`, not here.
"""

import json
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from os import PathLike
from pathlib import Path, PurePath
from types import NoneType
from typing import Any, NamedTuple, TypeAlias, final

from simstrategy import tree
from simstrategy.errors import InvalidArgument, InvalidType
from simstrategy.notebook import card

__all__ = [
    "VERSION",
    "CallPath",
    "Event",
    "Request",
    "Site",
    "Subject",
    "Trace",
    "describe_request",
    "describe_site",
    "file_failed",
    "file_path",
    "parse",
    "read_events",
    "warn_at",
    "write_events",
]

VERSION = 1
_HEADER = {"format": "simstrategy-trace", "version": VERSION}


class CallPath(NamedTuple):
    """A call site, and the program's lines that led there, the nearest first."""

    file: str
    line: int
    callers: tuple[tuple[str, int], ...]


Site: TypeAlias = tuple[str, int] | CallPath
"""A call site: absolute file name and line; with the lines that led there where call paths are compared."""


class Subject(ABC):
    """What a request is about, where its name alone does not identify it.  Equal subjects are one and the same.

    `str` gives the name, as it stands in a trace.
    """

    __slots__ = ()

    @abstractmethod
    def fingerprint(self) -> str:
        """Returns a text that is equal in another process for the same subject, and different for another one."""

    @abstractmethod
    def described(self) -> str:
        """Returns the name, with what distinguishes the subject from others of the same name, for messages."""

    @abstractmethod
    def recorded(self) -> str | None:
        """Returns the name for a trace, as it is now; None for a subject that a trace does not show."""

    @abstractmethod
    def difference(self, other: "Subject") -> str | None:
        """Returns where this subject differs from another one that is described alike; None where that is not known."""


class Request(NamedTuple):
    """The description of a call at a synchronisation point.  All replicas must make equal requests."""

    kind: str
    op: str | None
    axis: int | None
    subject: object
    """The merge function, variable or replica function of the call, if there is one: a text or a `Subject`."""
    structure: tree.Structure | None
    leaves: tuple[tuple[tuple[int | None, ...], str], ...]
    """Shape and dtype of each array; None stands for a size that may differ between replicas."""


class Event(NamedTuple):
    """One line of a trace: one request of one replica.

    replica: the rank; None for a request of a worker outside replica functions. site: file and line, as in
    ``train.py:31``. shapes, dtypes: one for each array of the request.
    """

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
    """Returns a call site as file name and line.

    >>> describe_site(("/home/user/train.py", 31))
    'train.py:31'
    """
    return f"{_shown_path(site[0], None)}:{site[1]}"


@lru_cache(maxsize=4096)
def _shown_path(file: str, root: str | None) -> str:
    """Returns a file relative to a folder that it is in; its name alone otherwise."""
    path = PurePath(file)
    return path.relative_to(root).as_posix() if root is not None and path.is_relative_to(root) else path.name


def warn_at(warning: Warning, site: Site) -> None:
    """Shows a warning at a call site, so that it points at the user's line; in this file where none is known."""
    warnings.warn_explicit(warning, None, *(site[:2] if site[0] else (__file__, 1)))


def describe_request(request: Request) -> str:
    """Returns a request as text for messages.

    >>> describe_request(Request("all_reduce", "MEAN", None, None, None, (((2,), "float32"),)))
    'all_reduce MEAN float32[2]'
    """
    kind, op, axis, subject, structure, leaves = request
    words = [kind]
    if subject is not None:
        words.append(subject.described() if isinstance(subject, Subject) else str(subject))
    if op is not None:
        words.append(op)
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
    """Collects the events of a run.  Pass one to a strategy, as in `Strategy.mirrored("sim", trace=Trace())`.

    root: the folder of the program; a call site inside it is written relative to it, another one by its file name
    alone. Recording is one append for each synchronisation point; the text is made later.

    >>> trace = Trace()
    >>> trace.record(0, Request("all_reduce", "SUM", None, None, None, (((), "float32"),)), [0, 1], [("a.py", 3)] * 2)
    >>> [(event.replica, event.op, event.site) for event in trace.events()]
    [(0, 'SUM', 'a.py:3'), (1, 'SUM', 'a.py:3')]
    """

    __slots__ = ("_records", "root")

    def __init__(self, *, root: str | Path | None = None) -> None:
        if not isinstance(root, (str, PathLike, NoneType)):
            raise InvalidType(f"root is the folder of the program, got {root!r}. Pass its name, or leave it out.")
        self.root = None if root is None else str(root)
        self._records: list[tuple[int, Request, Sequence[int | None], Sequence[Site]]] = []

    def record(self, worker: int, request: Request, replicas: Sequence[int | None], sites: Sequence[Site]) -> None:
        """Adds one event for each replica, in the order of their calls."""
        if isinstance(request.subject, Subject):
            request = request._replace(subject=request.subject.recorded())
        self._records.append((worker, request, replicas, sites))

    def events(self, *, worker: int | None = None) -> Iterator[Event]:
        """Yields the events in order; worker: of this worker only, or of all for None."""
        for recorded, request, replicas, sites in self._records:
            if worker is None or recorded == worker:
                for replica, site in zip(replicas, sites, strict=True):
                    yield self._event(recorded, request, replica, site)

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
            site=self.site_text(site),
        )

    def site_text(self, site: Site) -> str:
        """Returns a call site as it stands in an event."""
        return f"{_shown_path(site[0], self.root)}:{site[1]}"

    def __repr__(self) -> str:
        count = sum(len(replicas) for _, _, replicas, _ in self._records)
        return f"<Trace of {count} event{'' if count == 1 else 's'}>"

    def _repr_html_(self) -> str:
        """Returns the first events as a table, for notebooks."""
        rows = (
            [str(event.worker), "" if event.replica is None else str(event.replica), _words(event), event.site]
            for event in self.events()
        )
        total = sum(len(replicas) for _, _, replicas, _ in self._records)
        return card("Trace", ["worker", "replica", "call", "line"], rows, total=total)

    def digest(self) -> str:
        """Returns the SHA-256 of all lines except the header, in hexadecimal: equal for equal traces."""
        import hashlib  # noqa: PLC0415 - loading it costs time at every start, and few programs use it

        return hashlib.sha256("\n".join(event.line() for event in self.events()).encode()).hexdigest()

    def write(self, file: str | Path) -> None:
        """Writes a file: the header, then one JSON line for each event.  Raises InvalidArgument where it cannot."""
        write_events(file, self.events())

    @staticmethod
    def read(file: str | Path) -> list[Event]:
        """Reads a file that `write` wrote.  Raises InvalidArgument, also with the line that is no event."""
        path = file_path(file)
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, ValueError) as error:
            raise file_failed(file, "read", error) from error
        if not lines or parse(lines[0], f"{file}:1") != _HEADER:
            raise InvalidArgument(
                f"{file} does not begin with the header of a trace of version {VERSION}. Write it with Trace.write; "
                f"a recording is read with ss.trace.read."
            )
        return read_events(lines[1:], name=str(file), first_line=2)


def write_events(file: str | Path, events: Iterable[Event]) -> None:
    """Writes a trace file from events.  Raises InvalidArgument where it cannot be written."""
    lines = [json.dumps(_HEADER, sort_keys=True), *(event.line() for event in events)]
    path = file_path(file)
    try:
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    except (OSError, ValueError) as error:
        raise file_failed(file, "written", error) from error


def file_path(file: str | Path) -> Path:
    """Returns the path of a trace.  Raises InvalidType for what is no name of a file, and for a pipe, which blocks."""
    if not isinstance(file, (str, PathLike)):
        raise InvalidType(f"A trace is in a file with a name, got {file!r}. Pass the name of a file.")
    path = Path(file)
    try:
        is_pipe = path.is_fifo() or path.is_socket()
    except (OSError, ValueError) as error:
        raise file_failed(file, "found", error) from error
    if is_pipe:
        raise InvalidArgument(f"{file} is a pipe or a socket, and a trace is in a file. Pass the name of a file.")
    return path


def file_failed(file: str | Path, what: str, error: OSError | ValueError) -> InvalidArgument:
    """Returns the error for a file that cannot be read or written."""
    reason = error.strerror if isinstance(error, OSError) else error
    return InvalidArgument(f"{file} cannot be {what}: {reason}. Give another file.")


def read_events(lines: Iterable[str], *, name: str, first_line: int) -> list[Event]:
    """Parses lines of a trace; name and first_line: for error messages.  Raises InvalidArgument."""
    events = []
    for number, line in enumerate(lines, first_line):
        fields = parse(line, f"{name}:{number}")
        try:
            shapes, dtypes = tuple(tuple(shape) for shape in fields["shapes"]), tuple(fields["dtypes"])
            events.append(Event(**(fields | {"shapes": shapes, "dtypes": dtypes})))
        except (KeyError, TypeError) as error:
            raise InvalidArgument(
                f"{name}:{number} is no event of a trace: it needs the fields {list(Event._fields)}. Write it with "
                f"Trace.write."
            ) from error
    return events


def parse(line: str, where: str) -> Any:
    """Returns what a line of JSON has.  Raises InvalidArgument; where: file and number of the line."""
    try:
        return json.loads(line)
    except json.JSONDecodeError as error:
        raise InvalidArgument(
            f"{where} is not JSON ({error}). The file is damaged or no trace: write it again with Trace.write."
        ) from error


def _words(event: Event) -> str:
    """Returns the request of an event in a few words."""
    axis = None if event.axis is None else f"axis={event.axis}"
    return " ".join(word for word in (event.kind, event.op, axis, event.subject) if word is not None)
