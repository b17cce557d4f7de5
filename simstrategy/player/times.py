"""The virtual time of a run as texts and places: what the page draws as a time line."""

from collections.abc import Sequence
from typing import Any, Final

from simstrategy.player.stops import Event
from simstrategy.sim import PointTimes, Span, Timeline
from simstrategy.sim.cost import formula
from simstrategy.sim.virtual_time import NETWORK
from simstrategy.trace import SyncPoint

__all__ = ["seconds_text", "times_data"]

_DOES: Final = ("compute", "wait", "communicate")
_NAMED_MAX: Final = 4
_UNITS: Final = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9))


def seconds_text(seconds: float) -> str:
    """Returns a time with three digits and its unit.

    >>> seconds_text(0.0000125), seconds_text(3), seconds_text(0)
    ('12.5 µs', '3 s', '0 s')
    """
    if not seconds:
        return "0 s"
    unit, size = next((one for one in _UNITS if abs(seconds) >= one[1]), _UNITS[-1])
    return f"{float(f'{seconds / size:.3g}'):g} {unit}"


def times_data(found: Timeline, events: Sequence[Event], ranks: Sequence[int]) -> dict[str, Any]:
    """Returns the times of a page.

    facts: sentences on the costs. points: for each point in order its event, begin, end, a sentence, and the spans
    that lead to it: place of the replica, what it does (0 computes, 1 waits, 2 communicates), begin and end in seconds.
    rows: names of the places; the network is one where calls overlap with computing. totals: for each replica how long
    it did what, as texts.
    """
    rows = [*ranks, NETWORK] if found.cost.overlap else [*ranks]
    columns = {rank: place for place, rank in enumerate(rows)}
    numbers = {event.number: place for place, event in enumerate(events) if isinstance(event, SyncPoint)}
    spans: dict[int, list[Span]] = {}
    for span in found.spans:
        spans.setdefault(span.point, []).append(span)
    points = []
    for number, place in numbers.items():
        own = spans.get(number, [])
        one = found.points.get(number)
        if one is None and not own:
            continue
        begin = min([span.begin_s for span in own], default=one.begin_s if one is not None else 0.0)
        end = max([*(span.end_s for span in own), *([one.end_s] if one is not None else [])])
        drawn = [[columns[span.rank], _DOES.index(span.does), span.begin_s, span.end_s] for span in own]
        points.append([place, begin, end, _sentence(found, one, own), drawn])
    names = ["network" if rank == NETWORK else f"replica {rank}" for rank in rows]
    return {"facts": _facts(found), "points": points, "rows": names, "totals": _totals(found, ranks)}


def _facts(found: Timeline) -> str:
    cost = found.cost
    texts = [
        f"{seconds_text(cost.compute_s)} of computing before each point" if cost.compute_s else "",
        f"{seconds_text(cost.row_s)} for each row of data" if cost.row_s else "",
        f"α = {seconds_text(cost.alpha_s)} for each message",
        f"β = {seconds_text(cost.beta_s_per_byte)} for each byte",
        *(f"replica {rank} computes {factor:g} times as long" for rank, factor in sorted(cost.slow.items())),
        f"collectives as {'a ' if found.algorithm != 'linear' else ''}{found.algorithm}",
        "collectives overlap with computing" if cost.overlap else "",
    ]
    return f"Declared costs: {', '.join(text for text in texts if text)}. The run ends at {seconds_text(found.end_s)}."


def _sentence(found: Timeline, one: PointTimes | None, spans: Sequence[Span]) -> str:
    """Returns when a point was, who waited, and how long its call takes, with the formula."""
    waits = sorted([(span.begin_s - span.end_s, span.rank) for span in spans if span.does == "wait"])
    texts = []
    if waits:
        named = [f"replica {rank} for {seconds_text(-time)}" for time, rank in waits[:_NAMED_MAX]]
        more = f", and {len(waits) - _NAMED_MAX} more" if len(waits) > _NAMED_MAX else ""
        texts.append(f"Waiting: {', '.join(named)}{more}.")
    if one is None:
        return " ".join(["The run ends when its last replica has returned.", *texts])
    begin, takes = seconds_text(one.begin_s), seconds_text(one.end_s - one.begin_s)
    if one.call is None or one.devices < 2:
        return " ".join([*texts, f"All are there at {begin}."])
    made = f"{one.call} ({found.algorithm}, n = {one.devices}, s = {one.size})"
    return " ".join([*texts, f"{made}: {formula(one.call, found.algorithm)}, {takes} from {begin} on."])


def _totals(found: Timeline, ranks: Sequence[int]) -> list[list[str]]:
    sums = {rank: [0.0, 0.0, 0.0] for rank in ranks}
    for span in found.spans:
        if span.rank != NETWORK:
            sums[span.rank][_DOES.index(span.does)] += span.end_s - span.begin_s
    return [[f"replica {rank}", *map(seconds_text, times)] for rank, times in sums.items()]
