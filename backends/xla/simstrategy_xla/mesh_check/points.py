"""Makes recorded points of what was recorded of a JAX program: collectives, state, and the parts of the data.

State is what a `shard_map` returns and receives again in a later call.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any, Final, NamedTuple

import numpy as np

from simstrategy.check.causes.facts import Leaves, PointFacts
from simstrategy.check.causes.watching import NamedValue
from simstrategy.check.distances import same_bits
from simstrategy_xla.mesh_check.calls import Call, Parts, calls_of
from simstrategy_xla.mesh_check.jobs import TAKING, Record, Site

__all__ = ["Diverged", "Facts", "facts_of"]

Host = np.ndarray[Any, Any]
Place = tuple[int, int]
"""The number of a site, and of one of its values."""

_SENT: Final = frozenset({"permute", "all_to_all"})
"""Collectives that combine nothing."""


class Diverged(NamedTuple):
    """State that began equal on all devices, and was not equal later.

    last: what the devices […] hold in the end. partakes: whether anything but its own next value is computed with it.
    """

    last: Parts
    partakes: bool


class Facts(NamedTuple):
    """points: in the order of the program. diverged: in the order in which it was first unequal.

    named: what enters a shard_map, and what its lines compute, on each device. elsewhere: the same points, with what
    another device holds than the first one, where they are not equal. transposed: sums that differentiation made.
    """

    points: tuple[PointFacts, ...]
    diverged: tuple[Diverged, ...]
    named: tuple[NamedValue, ...]
    elsewhere: tuple[PointFacts, ...]
    transposed: tuple[PointFacts, ...]


def facts_of(record: Record) -> Facts:
    """Returns the points of a run."""
    calls = calls_of(record)
    state, returning = _state(calls)
    parts = {step: (tuple([len(rows) for rows in texts]), texts) for step, texts in _parts_of(calls, returning)}
    found: list[PointFacts] = []
    diverged: dict[Place, Parts] = {}
    named: list[NamedValue] = []
    transposed: list[PointFacts] = []
    ends = _ends(calls, state)
    for number, call in enumerate(calls):
        if call.site.own or call.site.kind == "enter":
            named += _named(call, number, returning)
            continue
        made = _leaving(call, state, diverged) if call.site.kind == "leave" else _collective(call, ends)
        sizes, rows = parts.get(call.step, (None, None))
        known = sizes is not None and call.site.devices == len(sizes)
        own = [
            point._replace(number=number, parts=sizes if known else None, rows=rows if known else None)
            for point in made
        ]
        found += own
        transposed += own if call.site.transposed and call.site.op == "SUM" else []
    elsewhere = tuple(map(_elsewhere, found))
    partaking = _partaking(calls, state, diverged) if diverged else frozenset()
    ended = tuple([Diverged(last, place in partaking) for place, last in diverged.items()])
    return Facts(tuple(found), ended, tuple(named), elsewhere, tuple(transposed))


class _State(NamedTuple):
    """A value that returns to a shard_map.

    enters, name: where, as the argument of this name. before: the values of each step. equal: whether it begins equal.
    added: whether it enters nothing there but its own next value, and is only added up in it.
    """

    enters: Place
    name: str
    before: Mapping[int, Parts]
    equal: bool
    added: bool


def _state(calls: Sequence[Call]) -> tuple[dict[Place, _State], frozenset[Place]]:
    """Returns what a shard_map returns and receives again, by where it is returned; and all places that receive it.

    Two values may be equal at first, as two copies of weights are: then both places may receive either.
    """
    targets: dict[Place, Place] = {}
    left: dict[Place, Parts] = {}
    entered: dict[Place, dict[int, Parts]] = {}
    names: dict[Place, str] = {}
    sites: dict[Place, Site] = {}
    returning: set[Place] = set()
    for call in calls:
        for place, value in enumerate(call.values):
            if value is None or not (value[0].dtype.kind in "fc" or value[0].dtype.name == "bfloat16"):
                continue
            here = call.site.number, place
            sites[here] = call.site
            if call.site.kind == "leave":
                left[here] = value
            elif call.site.kind == "enter":
                entered.setdefault(here, {})[call.step] = value
                names[here] = call.site.names[place] if place < len(call.site.names) else ""
                for source in [source for source, parts in left.items() if _is_same(parts, value)]:
                    targets.setdefault(source, here)
                    returning.add(here)
    found = {}
    for source, target in targets.items():
        values = entered[target]
        added = _is_added(sites[target], target[1], sites[source].module, source[1])
        found[source] = _State(target, names[target], values, _are_equal(values[min(values)]), added)
    return found, frozenset(returning)


def _is_added(site: Site, place: int, module: int, result: int) -> bool:
    """Returns whether an argument enters nothing but one result of the same program, and is only added up in it."""
    added = site.added[place] if place < len(site.added) else None
    return added is not None and added <= ({result} if site.module == module else set())


def _partaking(calls: Sequence[Call], state: Mapping[Place, _State], diverged: Collection[Place]) -> frozenset[Place]:
    """Returns which of these states is, at any time, computed with for more than its own next value."""
    found = {place for place in diverged if place not in state or not state[place].added}
    held: dict[bytes, tuple[int, Place]] = {}
    for call in calls:
        for number, value in enumerate(call.values if call.site.kind in ("enter", "leave") else ()):
            if value is None or _are_equal(value):
                continue
            bits, here = _bits_of(value), (call.site.number, number)
            if call.site.kind == "leave" and here in diverged:
                held[bits] = call.site.module, here
            elif call.site.kind == "enter" and bits in held:
                module, source = held[bits]
                if not _is_added(call.site, number, module, source[1]):
                    found.add(source)
    return frozenset(found)


def _bits_of(parts: Parts) -> bytes:
    digest = blake2b(digest_size=16)
    for one in parts:
        digest.update(one.tobytes())
    return digest.digest()


def _is_same(one: Parts, other: Parts) -> bool:
    return len(one) == len(other) and all(same_bits(a, b) for a, b in zip(one, other, strict=True))


def _are_equal(parts: Parts) -> bool:
    return all(same_bits(parts[0], one) for one in parts[1:])


def _leaving(call: Call, state: Mapping[Place, _State], diverged: dict[Place, Parts]) -> Iterator[PointFacts]:
    """Yields the points of what a shard_map returns: state, and what is the same on all devices."""
    site = call.site
    for place, value in enumerate(call.values):
        if value is None or not _is_number(value[0]):
            continue
        kept, equal = state.get((site.number, place)), _are_equal(value)
        cut = site.cut[place]
        joined = cut is not None and not (site.by_pmap and (kept is not None or equal))
        if joined and site.by_pmap:
            continue  # each device returns a value of its own
        name = _name(site, place, state)
        before = None if kept is None else kept.before.get(call.step)
        point = PointFacts(
            call.step,
            site.place,
            "return" if kept is None else "assign",
            name,
            None,
            _terms(value, before),
            (np.concatenate(value, axis=cut) if cut is not None and joined else value[0],),
            kept=not joined and (kept is not None or not equal),
            own=not joined and not equal,
            before=() if before is None or before[0].shape != value[0].shape else before[:1],
        )
        declared = cut is None or (site.by_pmap and kept is not None and kept.equal)
        if (site.number, place) in diverged or (declared and not equal):
            diverged[site.number, place] = value
        yield point


def _named(call: Call, number: int, state: Collection[Place]) -> Iterator[NamedValue]:
    """Yields what each device has at a line, but no state that enters in parts: its rows are of no examples."""
    site = call.site
    for place, value in enumerate(call.values):
        if (site.number, place) in state and site.cut[place] is not None and not site.by_pmap:
            continue
        name = site.names[place] if place < len(site.names) else site.kind
        for device, one in enumerate(value or ()):
            if _is_number(one):
                taken, given = site.kind in TAKING, site.kind == "enter"
                drawn = False if given else site.drawn
                yield NamedValue(call.step, number, device, site.place, name, one, taken, given, drawn)


def _terms(value: Parts, before: Parts | None) -> tuple[Leaves, ...]:
    """Returns what each device holds; () for one that keeps the value before, where others do not."""
    if before is None or len(before) != len(value):
        return tuple([(one,) for one in value])
    same = [same_bits(one, old) for one, old in zip(value, before, strict=True)]
    return tuple([() if keeps and not all(same) else (one,) for one, keeps in zip(value, same, strict=True)])


def _elsewhere(point: PointFacts) -> PointFacts:
    """Returns a point with what another device holds than the first one, where that is another value."""
    if not point.own or not point.outputs:
        return point
    held = [term or point.before for term in point.inputs]
    others = [one for one in held if one and not same_bits(one[0], point.outputs[0])]
    return point._replace(outputs=others[0]) if others else point


def _is_number(value: Host) -> bool:
    return value.dtype.kind in "biufc" or value.dtype.name == "bfloat16"


def _ends(
    calls: Sequence[Call], state: Mapping[Place, _State]
) -> dict[tuple[int, int], dict[int, tuple[int, str | None]]]:
    """Returns the numbers and names of the points of what a compiled program returns, by its step and itself.

    By the number of the result. Of a program with several shard_maps nothing is returned: any of them may be meant.
    """
    found: dict[tuple[int, int], dict[int, tuple[int, str | None]]] = {}
    several = set()
    for number, call in enumerate(calls):
        if call.site.kind == "leave":
            key = call.step, call.site.module
            several |= {key} & found.keys()
            found[key] = {place: (number, _name(call.site, place, state)) for place in range(len(call.values))}
    return {key: one for key, one in found.items() if key not in several}


def _name(site: Site, place: int, state: Mapping[Place, _State]) -> str:
    """Returns the name of a value that a shard_map returns: of state, that of the argument which it becomes."""
    kept = state.get((site.number, place))
    name = site.names[place] if place < len(site.names) else f"[{place}]"
    return name if kept is None else kept.name or name


def _into(
    call: Call, ends: Mapping[tuple[int, int], Mapping[int, tuple[int, str | None]]]
) -> dict[tuple[int, str | None], bool]:
    """Returns which points of what its shard_map returns are computed from a collective, where that is known."""
    reaches = call.site.reaches
    results = ends.get((call.step, call.site.module), {})
    return {} if reaches is None else {one: place in reaches for place, one in results.items()}


def _collective(
    call: Call, ends: Mapping[tuple[int, int], Mapping[int, tuple[int, str | None]]]
) -> Iterator[PointFacts]:
    """Yields the point of a collective, or of a whole array that a line computes.  ends: as of `_ends`."""
    site = call.site
    values = [value for value in call.values if value is not None]
    if len(values) < len(call.values):
        return
    terms: tuple[Leaves, ...] = tuple(zip(*values[: site.inputs], strict=True)) if site.inputs else ()
    outputs = values[site.inputs :]
    if site.op == "MEAN":  # JAX makes a mean of a sum and a division
        outputs = [tuple([np.asarray(one / site.devices, one.dtype) for one in parts]) for parts in outputs]
    # What devices send each other stays a value of each, also where all of them send zeros.
    own = site.kind in _SENT or not all(_are_equal(parts) for parts in outputs)
    combined = () if own else tuple([parts[0] for parts in outputs])
    into = _into(call, ends)
    yield PointFacts(call.step, site.place, site.kind, None, site.op, terms, combined, own=own, into=into)


def _parts_of(calls: Sequence[Call], returning: Collection[Place]) -> Iterator[tuple[int, tuple[tuple[str, ...], ...]]]:
    """Yields for each step the examples of each device, as texts that are equal for equal examples.

    Examples are the rows of arrays that enter the first shard_map of the step in parts, and are no state.
    returning: the places that receive state.
    """
    done: set[int] = set()
    for call in calls:
        if call.site.kind != "enter" or call.step in done:
            continue
        columns = []
        for place, value in enumerate(call.values):
            known = (
                value is not None and call.site.cut[place] is not None and (call.site.number, place) not in returning
            )
            rows = tuple([one[0] for one in value]) if known and value is not None and call.site.by_pmap else value
            if known and rows and rows[0].ndim and _is_number(rows[0]) and rows[0].dtype != np.uint32:
                columns.append(rows)  # keys of random numbers are uint32
        columns = [rows for rows in columns if len(rows[0]) == len(columns[0][0])]
        if columns:
            done.add(call.step)
            devices = range(call.site.devices)
            yield call.step, tuple([_texts([rows[device] for rows in columns]) for device in devices])


def _texts(columns: Sequence[Host]) -> tuple[str, ...]:
    """Returns a text for each row of some arrays [rows, …]."""
    rows = zip(*[[one.tobytes() for one in np.ascontiguousarray(array)] for array in columns], strict=True)
    return tuple([blake2b(b"\0".join(row), digest_size=8).hexdigest() for row in rows])
