"""The recorder: a trace that keeps the values too, as lines that a `Recording` is made of.

Which values a request has is in `run/observing.py`. Everything here is on the host.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias, final

from simstrategy.errors import InvalidArgument
from simstrategy.trace.events import Event, Request, Site, Subject, Trace
from simstrategy.trace.files import LineFile, header_of, read
from simstrategy.trace.line_log import WHOLE_BYTES, WHOLE_TOTAL, Chooser, Leaf, LineLog
from simstrategy.trace.lines import recording_of
from simstrategy.trace.recording import Recording
from simstrategy.trace.values import row_digests

__all__ = ["AnyTrace", "Recorder"]

Rows: TypeAlias = Sequence[Sequence[Leaf]]
"""For each local replica, in rank order, its values."""

Failure: TypeAlias = tuple[str, str]
"""Class and text of an exception."""

ROWS_MAX: Final = 4096
"""Of one part: how many rows get a digest."""
TEXT_MAX: Final = 1 << 20
"""Characters of what the program printed that are kept; what follows is left out."""


@final
class _Open:
    """A synchronisation point that has begun: its number, its first call site, and how many replicas brought values."""

    __slots__ = ("count", "number", "site", "written")

    def __init__(self, number: int, site: str, count: int) -> None:
        self.number, self.site, self.count = number, site, count
        self.written: list[int] = []
        """The components of the variable that it has written."""


@final
class Recorder:
    """A trace that keeps values: pass it to a strategy as its trace, and read `recording()` afterwards.

    It has the events of a `Trace`. Recorded are the values that enter and leave every synchronisation point, also the
    one that failed, the parts of the data, writes to variables, draws of the schedule, results and what was printed.

    file: where to write the recording as it is made; None keeps it in memory. root: as of `Trace`. whole_bytes: up to
    which size every value is kept whole; None for 4 KiB, and for 256 bytes after 1 MiB in all. Of larger ones digest,
    range and first elements are kept. Raises InvalidArgument for a file that cannot be made.

    >>> import simstrategy as ss
    >>> recorder = ss.trace.Recorder()
    >>> strategy = ss.Strategy.mirrored("sim", replicas=2, trace=recorder)
    >>> _ = strategy.run(lambda: ss.get_replica_context().all_reduce("SUM", 1.5))
    >>> point = recorder.recording().points[-1]
    >>> point.kind, [row[0].array.item() for row in point.inputs], point.outputs[0][0].array.item()
    ('all_reduce', [1.5, 1.5], 3.0)
    """

    __slots__ = (
        *("_begun", "_closed", "_events", "_expected", "_facts", "_file", "_lines", "_log"),
        *("_open", "_printed", "_sites", "_steps"),
    )

    def __init__(
        self, file: str | Path | None = None, *, root: str | Path | None = None, whole_bytes: int | None = None
    ) -> None:
        whole = WHOLE_BYTES if whole_bytes is None else whole_bytes
        if not isinstance(whole, int) or isinstance(whole, bool) or whole < 0:
            raise InvalidArgument(f"whole_bytes is a number of bytes, got {whole_bytes!r}. Pass an int of at least 0.")
        self._events = Trace(root=root)
        self._lines: list[dict[str, Any]] = []
        self._file = None if file is None else LineFile(file)
        self._log = LineLog(self._put, whole_bytes)
        self._facts: dict[str, Any] = {
            "whole_bytes": whole,
            "whole_total": WHOLE_TOTAL if whole_bytes is None else None,
        }
        self._begun = self._closed = False
        self._open: dict[int, list[_Open]] = {}
        """For each worker the synchronisation points that have begun and not ended."""
        self._steps: dict[int, int] = {}
        self._expected: dict[int, Rows] = {}
        """For each worker what the call that is about to be made outside replica functions brings."""
        self._sites: dict[Site, str] = {}
        self._printed = 0

    @property
    def root(self) -> str | None:
        """The folder of the program."""
        return self._events.root

    def events(self, *, worker: int | None = None) -> Iterator[Event]:
        """Yields the events in order; see `Trace.events`."""
        return self._events.events(worker=worker)

    def recording(self) -> Recording:
        """Returns all that was recorded so far."""
        self._log.put_draws()
        if self._file is not None:
            return read(self._file.name)
        return recording_of(header_of(self._facts), self._lines)

    def close(self) -> None:
        """Ends the recording, once.  Raises InvalidArgument where its file could not be written to the end."""
        if self._closed:
            return
        self._log.put({"closed": self._log.number})
        self._closed = True
        if self._file is not None:
            self._file.close()

    # The run.

    def describe(self, **facts: Any) -> None:
        """Adds facts on the run to the header, until the first event; what is there stays.  Values as JSON has them."""
        if not self._begun:
            self._facts = facts | self._facts

    def watched(self, schedule: Chooser) -> Chooser:
        """Returns a schedule that makes the same choices and whose draws are recorded."""
        return self._log.watched(schedule)

    def ended(
        self,
        worker: int,
        leaves: Iterable[tuple[str, Leaf]],
        error: Failure | None = None,
        *,
        site: Site | None = None,
    ) -> None:
        """Records how a worker's program ended.  site: the line that raised the error, where it is known."""
        line: dict[str, Any] = {"result": worker, "leaves": [[path, self._log.value(leaf)] for path, leaf in leaves]}
        if site is not None:
            line["site"] = self._site(site)
        self._log.put(line | self._failure(error))

    # Synchronisation points.

    def record(self, worker: int, request: Request, replicas: Sequence[int | None], sites: Sequence[Site]) -> None:
        """Adds the events, and a synchronisation point for a call outside replica functions."""
        self._events.record(worker, request, replicas, sites)
        if len(replicas) == 1 and replicas[0] is None:
            expected = self._expected.pop(worker, None)
            depth = self.depth(worker)
            self.begin(worker, request, replicas, sites, expected or ())
            if expected is None:
                self.leave(worker, depth)

    def expect(self, worker: int, inputs: Rows) -> int:
        """Notes what the next call outside replica functions brings; returns how many points are open."""
        self._expected[worker] = inputs
        return self.depth(worker)

    def begin(
        self,
        worker: int,
        request: Request,
        replicas: Sequence[int | None],
        sites: Sequence[Site],
        inputs: Rows,
        requests: Sequence[str] = (),
    ) -> None:
        """Begins a synchronisation point: it is open until `leave`."""
        if request.kind in ("run", "compiled"):
            self._steps[worker] = self._steps.get(worker, 0) + 1
        shown = request.subject.recorded() if isinstance(request.subject, Subject) else request.subject
        # Most replicas call from one line.
        is_one = len(sites) > 0 and sites.count(sites[0]) == len(sites)
        texts = [self._site(site) for site in (sites[:1] if is_one else sites)]
        line: dict[str, Any] = {
            "worker": worker,
            "step": self._steps.get(worker, 0),
            "kind": request.kind,
            "op": request.op,
            "axis": request.axis,
            "subject": None if shown is None else str(shown),
            "replicas": list(replicas),
            "sites": texts[:1] if len(set(texts)) == 1 else texts,
            "in": self._log.rows(inputs),
        }
        if requests:
            line["requests"] = [self._relative(text) for text in requests]
        number = self._log.add("point", line)
        self._open.setdefault(worker, []).append(_Open(number, texts[0] if texts else "", len(inputs)))

    def leave(self, worker: int, depth: int, outputs: Rows = (), error: Failure | None = None) -> None:
        """Ends the points of a worker that were begun when `depth` others were open; the first of them gets outputs."""
        self._expected.pop(worker, None)
        opened = self._open.get(worker, [])
        while len(opened) > depth:
            point = opened.pop()
            line: dict[str, Any] = self._failure(error)
            if not line and len(opened) == depth and any(outputs):
                line = {"out": self._log.rows(outputs)}
            elif not line and point.written:
                # Replicas that share a component all have it.
                line = {"out": [[one] for one in point.written * (point.count if len(point.written) == 1 else 1)]}
            self._log.put({"end": point.number, **line})

    def depth(self, worker: int) -> int:
        """Returns how many points of a worker are open."""
        return len(self._open.get(worker, ()))

    def begin_step(self, worker: int, number: int) -> None:
        """Sets the number of a worker's step, for programs whose steps are no calls of `run`."""
        self._steps[worker] = number

    def position(self, worker: int) -> tuple[int, int]:
        """Returns the number of a worker's step, and that of the next point or write."""
        return self._steps.get(worker, 0), self._log.number

    # Other events.

    def wrote(
        self,
        worker: int,
        replica: int | None,
        variable: str,
        operation: str,
        before: Sequence[Leaf],
        after: Sequence[Leaf],
        site: Site | None,
    ) -> None:
        """Records a write to a variable.  site: None for that of the open point, which then wrote."""
        opened = self._open.get(worker)
        point = opened[-1] if opened and site is None else None
        numbers = self._log.row(after)
        line = {
            "worker": worker,
            "step": self._steps.get(worker, 0),
            "replica": replica,
            "variable": variable,
            "operation": operation,
            "before": self._log.row(before),
            "after": numbers,
            "site": point.site if point is not None else "" if site is None else self._site(site),
            "during": None if point is None else point.number,
        }
        self._log.add("write", line)
        if point is not None:
            point.written = numbers

    def drew(self, worker: int, epoch: int, first: int, parts: Sequence[list[Any]], site: Site | None = None) -> int:
        """Records the parts of a step, for each local replica its leaves; returns the number of the row after them.

        first: the number of the first row. site: where the dataset was distributed, if known.
        """
        rows, digests = [], []
        for leaves in parts:
            count, texts = row_digests(leaves, ROWS_MAX)
            rows.append([first, count])
            digests.append(texts)
            first += count
        line = {"worker": worker, "step": self._steps.get(worker, 0), "epoch": epoch, "rows": rows, "digests": digests}
        line["site"] = "" if site is None else self._site(site)
        self._log.add("parts", line)
        return first

    def printed(self, worker: int, replica: int | None, text: str) -> None:
        """Records what was printed."""
        kept = text[: max(0, TEXT_MAX - self._printed)]
        self._printed += len(text)
        if kept:
            self._log.add("printed", {"worker": worker, "replica": replica, "text": self._relative(kept)})

    # Texts and lines.

    def _put(self, line: dict[str, Any]) -> None:
        if self._file is None:
            self._lines.append(line)
        elif not self._begun:
            self._file.put(header_of(self._facts))
            self._file.put(line)
        elif not self._closed:
            self._file.put(line)
        self._begun = True

    def _site(self, site: Site) -> str:
        text = self._sites.get(site)
        if text is None:
            text = self._sites[site] = self._events.site_text(site)
        return text

    def _relative(self, text: str) -> str:
        """Returns a text without the folder of the program."""
        return text if self.root is None else text.replace(f"{self.root}/", "")

    def _failure(self, error: Failure | None) -> dict[str, Any]:
        return {} if error is None else {"error": [error[0], self._relative(error[1])]}


AnyTrace: TypeAlias = Trace | Recorder
"""What a strategy takes as its trace."""
