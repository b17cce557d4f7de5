"""A recording from its lines: one for each event, in order, and one for each value before it is referred to."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, final

from simstrategy.errors import InvalidArgument
from simstrategy.trace.events import Event
from simstrategy.trace.fields import require_fields, require_header
from simstrategy.trace.recording import Printed, Recording, Result, Row, StepParts, SyncPoint, VariableWrite
from simstrategy.trace.values import ROW_DIGEST_CHARACTERS, Value, value_of

__all__ = ["of_events", "recording_of"]

Line = Mapping[str, Any]


def recording_of(header: Mapping[str, Any], lines: Iterable[Line], *, name: str = "recording") -> Recording:
    """Returns the recording that lines describe.

    name: of the file, for messages. Raises InvalidArgument with the number of a line that is none of a recording.
    """
    reading = _Reading()
    number = 1
    try:
        require_header(header)
        for number, line in enumerate(lines, 2):  # noqa: B007 - for the message
            reading.take(line)
    except (KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
        raise InvalidArgument(
            f"{name}:{number} is no line of a recording ({type(error).__name__}: {error}). The file is damaged: "
            f"record the program again."
        ) from error
    return reading.result(header)


def of_events(header: Mapping[str, Any], events: Iterable[Event]) -> Recording:
    """Returns the recording that a trace of version 1 is: the requests without their arrays, all of them ended."""
    points: list[SyncPoint] = []
    steps: dict[int, int] = {}
    forms: tuple[object, ...] = ()
    for event in events:
        if event.kind == "run":
            steps[event.worker] = steps.get(event.worker, 0) + 1
        row = tuple(
            value_of({"dtype": dtype, "shape": shape}) for shape, dtype in zip(event.shapes, event.dtypes, strict=True)
        )
        point = SyncPoint(
            len(points),
            event.worker,
            steps.get(event.worker, 0),
            event.kind,
            event.op,
            event.axis,
            event.subject,
            replicas=(event.replica,),
            sites=(event.site,),
            inputs=(),
            outputs=(),
            requests=(),
            error=None,
            ended=True,
            until=len(points) + 1,
        )
        last = points[-1] if points else point
        # Every replica makes each request once: one that comes again has made the next.
        if event.replica in last.replicas or _request(last) != _request(point) or forms != event[6:8]:
            points.append(point._replace(inputs=(row,)))
        else:
            replicas, sites = last.replicas + point.replicas, last.sites + point.sites
            points[-1] = last._replace(replicas=replicas, sites=sites, inputs=(*last.inputs, row))
        forms = event[6:8]
    return Recording(header, tuple(points), (), (), (), (), (), complete=True)


def _request(point: SyncPoint) -> tuple[object, ...]:
    return point.worker, point.kind, point.op, point.axis, point.subject


@final
class _Reading:
    """Takes the lines of a recording, one by one."""

    def __init__(self) -> None:
        self.values: list[Value] = []
        self.points: dict[int, SyncPoint] = {}
        self.parts: list[StepParts] = []
        self.writes: list[VariableWrite] = []
        self.draws: list[tuple[str, int, int]] = []
        self.prints: list[Printed] = []
        self.results: list[Result] = []
        self.complete = False
        self.following = 0
        """The place in the order that comes next."""

    def take(self, line: Line) -> None:
        """Takes one line.  Raises what a line raises that has not the fields of its kind."""
        if not isinstance(line, Mapping):
            raise TypeError("a line is an object of JSON")
        for kind, take in _TAKEN.items():
            if kind in line:
                require_fields(kind, line)
                if kind in _PLACED and line[kind] < self.following:
                    raise ValueError(f"{kind} {line[kind]} comes after {self.following - 1}")
                take(self, line)
                if kind in _PLACED:
                    self.following = line[kind] + 1
                return
        raise ValueError(f"no kind of line has the fields {sorted(line)}")

    def result(self, header: Mapping[str, Any]) -> Recording:
        """Returns the recording of the lines so far."""
        points = tuple(self.points[number] for number in sorted(self.points))
        lists = (tuple(self.parts), tuple(self.writes), tuple(self.draws), tuple(self.prints), tuple(self.results))
        return Recording(header, points, *lists, self.complete)

    def take_value(self, line: Line) -> None:
        if line["value"] != len(self.values):
            raise ValueError(f"value {line['value']} follows value {len(self.values) - 1}")
        self.values.append(value_of(line))

    def take_point(self, line: Line) -> None:
        replicas, sites = tuple(line["replicas"]), tuple(line["sites"])
        if len(sites) not in (1, len(replicas)):
            raise ValueError(f"{len(sites)} sites of {len(replicas)} replicas")
        self.points[line["point"]] = SyncPoint(
            number=line["point"],
            worker=line["worker"],
            step=line["step"],
            kind=line["kind"],
            op=line["op"],
            axis=line["axis"],
            subject=line["subject"],
            replicas=replicas,
            sites=sites * len(replicas) if len(sites) == 1 else sites,
            inputs=self._rows(line["in"]),
            outputs=(),
            requests=tuple(line.get("requests", ())),
            error=None,
            ended=False,
        )

    def take_end(self, line: Line) -> None:
        point = self.points[line["end"]]
        outputs = self._rows(line.get("out", ()))
        ended = point._replace(outputs=outputs, error=_error(line), ended=True, until=self.following)
        self.points[line["end"]] = ended

    def take_write(self, line: Line) -> None:
        self.writes.append(
            VariableWrite(
                number=line["write"],
                worker=line["worker"],
                step=line["step"],
                replica=line["replica"],
                variable=line["variable"],
                operation=line["operation"],
                before=self._row(line["before"]),
                after=self._row(line["after"]),
                site=line["site"],
                point=line["during"],
            )
        )

    def take_parts(self, line: Line) -> None:
        rows = tuple((int(first), int(count)) for first, count in line["rows"])
        size = ROW_DIGEST_CHARACTERS
        digests = tuple(
            tuple(texts[at : at + size] for at in range(0, len(texts), size)) for texts in map(str, line["digests"])
        )
        # Recordings of the first release of this version have no site.
        known = (line["parts"], line["worker"], line["step"], line["epoch"])
        self.parts.append(StepParts(*known, rows, digests, line.get("site", "")))

    def take_draws(self, line: Line) -> None:
        self.draws += [(str(label), int(count), int(taken)) for label, count, taken in line["draws"]]

    def take_printed(self, line: Line) -> None:
        self.prints.append(Printed(line["printed"], line["worker"], line["replica"], line["text"]))

    def take_result(self, line: Line) -> None:
        leaves = tuple((path, self.values[number]) for path, number in line["leaves"])
        # Recordings of the first releases of this version have no site.
        self.results.append(Result(line["result"], leaves, _error(line), line.get("site", "")))

    def take_closed(self, line: Line) -> None:
        self.complete = True

    def _rows(self, rows: Sequence[Sequence[int]]) -> tuple[Row, ...]:
        return tuple(map(self._row, rows))

    def _row(self, row: Sequence[int]) -> Row:
        return tuple([self.values[number] for number in row])


def _error(line: Line) -> tuple[str, str] | None:
    if "error" not in line:
        return None
    kind, text = line["error"]
    return str(kind), str(text)


_PLACED: Final = ("point", "write", "parts", "printed")
"""The kinds of lines that have a place in the order."""

_TAKEN: Final = {
    "value": _Reading.take_value,
    "point": _Reading.take_point,
    "end": _Reading.take_end,
    "write": _Reading.take_write,
    "parts": _Reading.take_parts,
    "draws": _Reading.take_draws,
    "printed": _Reading.take_printed,
    "result": _Reading.take_result,
    "closed": _Reading.take_closed,
}
