"""A recording as the data of a page: nests of texts, numbers and truth values, and every value as text."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from simstrategy.player.additions import Additions, additions_of
from simstrategy.player.aligned import aligned
from simstrategy.player.apart import Compared, standings
from simstrategy.player.captions import caption, label
from simstrategy.player.components import Components, kept_apart, made_at, variables_of, writes_at
from simstrategy.player.difference import first_difference
from simstrategy.player.marks import marks_of
from simstrategy.player.names import differ, held_at
from simstrategy.player.raised import raised_at
from simstrategy.player.stops import WHOLE, Event, Stop, columns_of, events_of, stops_of
from simstrategy.player.times import times_data
from simstrategy.player.values import ValueTable
from simstrategy.sim import Cost, timeline
from simstrategy.trace import Printed, Recording, StepParts, SyncPoint, Value, VariableWrite
from simstrategy.trace.recording import HOLDS

__all__ = ["run_data"]

_FACTS: Final = ("command", "backend", "replicas", "workers", "order", "schedule", "seed", "profile", "semantics")
_NOTHING: Final = "Nothing was recorded: the program made no call, drew no data and wrote no variable."


def run_data(
    recording: Recording,
    *,
    name: str,
    sources: Mapping[str, str],
    reference: Recording | None = None,
    cost: Cost | None = None,
) -> dict[str, Any]:
    """Returns one run.  name: how it is called in the page. sources: texts of the program's files, by their names.

    reference: another run, from which the first difference is found, and with whose stops those of this one are
    aligned. cost: of its virtual time, or None.

    raised: where an error ended the program, or None. columns: for each worker the ranks of its replicas. events,
    stops: as in `stops.py`, a stop with its caption. marks: places to jump to. values: what events refer to by number.
    """
    columns = columns_of(recording)
    events = events_of(recording)
    stops = stops_of(events)
    table = ValueTable()
    ranks = [rank for column in columns for rank in column]
    names = held_at(recording, columns, events)
    lines = _events(recording, columns, events, names, table)
    beside = _beside(reference, (events, stops, names))
    found = beside["difference"]
    marks = marks_of(recording, columns, events, stops) | {
        "difference": [] if found is None or found["ended"] else [found["here"]]
    }
    raised = raised_at(events, stops)
    return {
        "name": name,
        "raised": raised and _raised(*raised, lines[stops[raised[0]].event]),
        "facts": [[fact, str(recording.header[fact])] for fact in _FACTS if fact in recording.header],
        "complete": recording.complete,
        "has_values": recording.header.get("version") != 1,
        "has_arrivals": recording.header.get("version") != 1 and recording.header.get("arrivals") != "not recorded",
        "columns": columns,
        "events": lines or [{"is": "nothing", "worker": 0, "label": "nothing was recorded"}],
        "stops": _stops(columns, events, stops, names) or [[0, WHOLE, _NOTHING]],
        "marks": marks,
        "variables": _variables(recording, columns, events, stops, table),
        "sources": dict(sorted(sources.items())),
        "values": table.values,
        "times": None if cost is None else times_data(timeline(recording, cost), events, ranks),
    } | beside


def _beside(reference: Recording | None, run: Compared) -> dict[str, Any]:
    """Returns where a run first differs from a reference, and for each stop the reference's, and how they stand."""
    if reference is None:
        return {"difference": None, "aligned": None, "stands": None}
    events = events_of(reference)
    other = events, stops_of(events), held_at(reference, columns_of(reference), events)
    found, same = first_difference(other[:2], run[:2]), aligned(other[:2], run[:2])
    return {
        "difference": None if found is None else found._asdict(),
        "aligned": same,
        "stands": standings(other, run, same),
    }


def _stops(
    columns: Sequence[Sequence[int]],
    events: Sequence[Event],
    stops: Sequence[Stop],
    names: Mapping[int, Mapping[int, Value]],
) -> list[list[Any]]:
    """Returns each stop with its caption.  names: what replicas hold under a name, by the place of its event."""
    counts = {"replicas": sum(map(len, columns)), "workers": len(columns)}
    return [
        [stop.event, stop.phase, caption(events[stop.event], stop.phase, **counts, held=names.get(stop.event))]
        for stop in stops
    ]


def _events(
    recording: Recording,
    columns: Sequence[Sequence[int]],
    events: Sequence[Event],
    names: Mapping[int, Mapping[int, Value]],
    table: ValueTable,
) -> list[dict[str, Any]]:
    """Returns each event.  names: what replicas hold under a name, by the place of its event."""
    additions = additions_of(recording)
    lines = [
        _event(event, columns, table, additions) | _held(event, names.get(place), table)
        for place, event in enumerate(events)
    ]
    _place_raised(recording, events, lines)
    return lines


def _event(
    event: Event, columns: Sequence[Sequence[int]], table: ValueTable, additions: Mapping[int, Additions]
) -> dict[str, Any]:
    line: dict[str, Any] = {"worker": event.worker, "label": label(event)}
    if isinstance(event, SyncPoint):
        line |= _point(event, columns, table)
        if event.number in additions:
            line["additions"] = _additions(additions[event.number])
    elif isinstance(event, StepParts):
        line |= {"is": "parts", "step": event.step, "epoch": event.epoch, "rows": event.rows, "site": event.site}
        line["repeated"] = _repeated(event)
    elif isinstance(event, VariableWrite):
        line |= {"is": "write", "step": event.step, "site": event.site, "variable": event.variable}
        line |= {"replica": event.replica, "operation": event.operation}
        line |= {"before": table.rows([event.before])[0], "after": table.rows([event.after])[0]}
    elif isinstance(event, Printed):
        line |= {"is": "print", "replica": event.replica, "text": event.text}
    else:
        line |= {"is": "result", "leaves": [[path, table.number(value)] for path, value in event.leaves]}
        line |= {"error": event.error, "site": event.site}
    return line


def _raised(at: int, what: str, line: Mapping[str, Any]) -> dict[str, Any]:
    """Returns where the error that ended the program was raised: the stop, what happens there, and the lines."""
    sites = line["sites"] if "sites" in line else [line["site"]]
    return {"at": at, "what": what, "lines": [site for site in dict.fromkeys(sites) if site]}


def _held(event: Event, held: Mapping[int, Value] | None, table: ValueTable) -> dict[str, Any]:
    """Returns what is known of a name beside its event: of one replica alone, what the others hold as well."""
    if held is None or not isinstance(event, VariableWrite):
        return {}
    line: dict[str, Any] = {"differs": True} if differ(held) else {}
    if event.replica is not None:
        line["held"] = [[rank, table.number(value)] for rank, value in sorted(held.items())]
    return line


def _place_raised(recording: Recording, events: Sequence[Event], lines: Sequence[dict[str, Any]]) -> None:
    """Gives points that failed without a call the line that raised the error, where the program ends with it."""
    sites = {(result.worker, result.error): result.site for result in recording.results if result.site}
    for event, line in zip(events, lines, strict=True):
        if isinstance(event, SyncPoint) and not event.sites and (event.worker, event.error) in sites:
            line["sites"] = [sites[event.worker, event.error]]


def _point(point: SyncPoint, columns: Sequence[Sequence[int]], table: ValueTable) -> dict[str, Any]:
    # Most replicas call from one line.
    sites = list(point.sites[:1]) if len(set(point.sites)) == 1 else list(point.sites)
    line: dict[str, Any] = {"is": "point", "step": point.step, "kind": point.kind, "op": point.op}
    line |= {"subject": point.subject, "replicas": point.replicas, "sites": sites}
    line |= {"in": table.rows(point.inputs), "out": table.rows(point.outputs)}
    if point.requests:
        # Only the replicas that made a call brought something, in the order of their ranks.
        came = sorted(rank for rank in point.replicas if rank is not None)
        rows = dict(zip(came, line["in"], strict=False))
        line["in"] = [rows.get(rank, []) for rank in columns[point.worker]]
        line["requests"] = [text.split(": ", 1)[-1] for text in point.requests]
    if point.error is not None:
        line["error"] = point.error
    if not point.ended:
        line["ended"] = False
    return line


def _additions(found: Additions) -> dict[str, Any]:
    if found.left is not None:
        return {"left": found.left}
    return {"order": found.order, "own": found.own, "sums": [one._asdict() for one in found.sums]} | (
        ({"movable": True} if found.movable else {}) | ({"ranks": found.ranks} if found.ranks else {})
    )


def _repeated(parts: StepParts) -> list[int]:
    """Returns for each local replica how many of its rows another replica has in this step too."""
    sets = [set(texts) for texts in parts.digests]
    found = []
    for place, texts in enumerate(parts.digests):
        others = set().union(*(one for number, one in enumerate(sets) if number != place)) if texts else set()
        found.append(sum(text in others for text in texts))
    return found


def _variables(
    recording: Recording,
    columns: Sequence[Sequence[int]],
    events: Sequence[Event],
    stops: Sequence[Stop],
    table: ValueTable,
) -> list[dict[str, Any]]:
    """Returns each variable with its writes: the place, the operation, and the rank and value of what changed."""
    made = variables_of(recording)
    sites = made_at(made)
    found: dict[tuple[int, str], dict[str, Any]] = {}
    for (worker, name), point in made.items():
        line: dict[str, Any] = {"worker": worker, "name": name, "writes": [], "ranks": []}
        line["aggregation"] = None if point is None else point.op
        line["apart"] = point is not None and kept_apart(name, point)
        if name in sites:
            line["made"] = sites[name]
        found[worker, name] = line
    writes = writes_at(recording)
    components = Components(recording, columns)
    for place, stop in enumerate(stops):
        for write in writes(events[stop.event], stop):
            held = components.write(write)
            own = None if write.replica is None else held.get(write.replica)
            changed = held if own is None or write.replica is None else {write.replica: own}
            variable = found[write.worker, write.variable]
            variable["apart"] = variable["apart"] or write.operation == HOLDS
            values = [[rank, table.number(value)] for rank, value in changed.items()]
            variable["writes"].append([place, write.operation, values])
            variable["ranks"] = sorted({*variable["ranks"], *changed})
    return [line for line in found.values() if line["writes"]]
