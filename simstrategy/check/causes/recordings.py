"""The facts of a recording: its synchronisation points, the writes outside of them, and its results."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from simstrategy.check.causes.carried import carried
from simstrategy.check.causes.examples import Examples, examples_of, leaves_of
from simstrategy.check.causes.facts import FIRST_REPLICA, Host, Leaves, PointFacts
from simstrategy.check.causes.rounding import unit_of, wide
from simstrategy.check.distances import one_unit
from simstrategy.trace import Recording, SyncPoint, VariableWrite
from simstrategy.trace.recording import STEP_CHANGES

__all__ = ["facts_of"]

_WRITES: Final = ("assign", "assign_add", "assign_sub")
_ADDING: Final = ("assign_add", "assign_sub", STEP_CHANGES)
"""Operations whose value is by how much a variable changes."""
_PASSED_OVER: Final = ("variable", "sizes", "raised", "compiled")
"""Requests that combine no values."""

_INSIDE: Final = ("all_reduce", "all_gather", "run")
"""Requests of replica functions: a step may return by chance what another one combines."""

_NEAR: Final = 8.0
"""Ulps by which a write that is computed again may be off."""

_OF_REPLICA: Final = re.compile(r" of local replica (\d+)")


def facts_of(recording: Recording) -> list[PointFacts]:
    """Returns the facts of a run in one process, in order.

    Points without recorded values, because a framework traced them or they were too large, are left out. Where a
    write of all replicas is known by its operation and aggregation, the facts hold the value that was combined;
    else they hold the component of replica 0, or by how much it changed.
    """
    examples = dict(examples_of(recording))
    returned = _returned_in(recording)
    alone = _written_alone(recording)
    replicas = int(recording.header.get("replicas", 1))
    writes = {write.point: write for write in recording.writes if write.point is not None}
    points = {point.number: point for point in recording.points}
    firsts = _of_first_replica(recording)
    both: list[SyncPoint | VariableWrite] = [*recording.points, *recording.writes]
    ordered = sorted(both, key=lambda one: one.number)
    found: list[PointFacts] = []
    component_writes: list[VariableWrite] = []
    ulp = _coarsest(recording)
    for one in ordered:
        if isinstance(one, VariableWrite) and _is_own(one, replicas, alone):
            component_writes.append(one)
            continue
        facts = (
            _of_write(one, points, firsts) if isinstance(one, VariableWrite) else _of_point(one, writes.get(one.number))
        )
        if facts is not None:
            if facts.what not in _INSIDE:
                facts = facts._replace(step=returned.get(_key(facts.inputs), facts.step))
            replicas = len(facts.inputs)
            found.append(_with_examples(facts._replace(number=one.number), examples))
    updates, own = _updates(component_writes, alone, replicas)
    found += [*updates, *[_with_examples(facts, examples) for facts in _own_writes(own, alone, replicas)]]
    found = [facts._replace(ulp=max(facts.ulp, ulp)) for facts in (*found, *carried(recording))]
    found.sort(key=lambda facts: (facts.step, facts.number))
    return [*found, *[facts._replace(ulp=ulp) for facts in _results(recording)]]


def _with_examples(facts: PointFacts, examples: Mapping[int, Examples]) -> PointFacts:
    known = examples.get(facts.step, Examples(None, None))
    parts = known.parts if known.parts is not None and len(known.parts) == len(facts.inputs) else None
    return facts._replace(parts=parts, rows=known.rows if parts is not None else None, data=known.site)


def _coarsest(recording: Recording) -> float:
    """Returns one ulp of 1 in the coarsest floats that points combine: results and other values follow from them."""
    names = {
        value.dtype
        for point in recording.points
        if point.kind not in ("variable", "sizes")
        for row in (*point.inputs, *point.outputs)
        for value in row
    }
    known = {"float16", "bfloat16", "float32", "float64"} & names
    return max([one_unit(name) for name in known], default=0.0)


def _returned_in(recording: Recording) -> dict[tuple[bytes, ...], int]:
    """Returns in which step the replicas' values of a leaf were returned: a program may reduce them much later."""
    found: dict[tuple[bytes, ...], int] = {}
    for point in recording.points:
        source = _of_source(point) if point.kind == "run" else None
        if source is not None and len({len(term) for term in source.inputs}) == 1:
            for number in range(len(source.inputs[0])):
                found[_key(tuple([(term[number],) for term in source.inputs]))] = point.step
    return found


def _key(inputs: tuple[Leaves, ...]) -> tuple[bytes, ...]:
    return tuple([term[0].tobytes() for term in inputs if len(term) == 1])


def _written_alone(recording: Recording) -> dict[str, str | None]:
    """Returns the aggregation of each variable of which every replica writes its component alone."""
    return {name: point.op for name, point in _made(recording) if "ON_READ" in (point.subject or "")[len(name) :]}


def _of_first_replica(recording: Recording) -> set[str]:
    """Returns the names of the variables that keep what the first replica writes, by their aggregation."""
    return {name for name, point in _made(recording) if point.op == FIRST_REPLICA}


def _made(recording: Recording) -> Iterator[tuple[str, SyncPoint]]:
    """Yields the name of each variable with the point that made it."""
    made = {point.number: point for point in recording.points if point.kind == "variable"}
    for write in recording.writes:
        if write.point in made:
            yield write.variable, made[write.point]


def _is_own(write: VariableWrite, replicas: int, alone: Mapping[str, str | None]) -> bool:
    """Returns whether a replica wrote its component alone; with one replica, the variable decides."""
    if write.operation == "create":
        return False
    return write.replica is not None or (replicas == 1 and write.variable in alone)


# Points and writes.


def _of_point(point: SyncPoint, write: VariableWrite | None) -> PointFacts | None:
    if point.kind in _PASSED_OVER or point.error is not None or not point.ended or point.requests:
        return None
    if point.kind in ("run", "merge_call"):
        return _of_source(point)
    rows = [leaves_of(row) for row in point.inputs]
    outputs = [leaves_of(row) for row in point.outputs]
    if not outputs or any(row is None for row in (*rows, *outputs)) or not outputs[0]:
        return None
    inputs = tuple([row for row in rows if row is not None])
    first = outputs[0]
    own = any(
        len(row or ()) != len(first) or any(a.tobytes() != b.tobytes() for a, b in zip(row or (), first, strict=False))
        for row in outputs[1:]
    )
    site = point.sites[0] if point.sites else ""
    facts = PointFacts(point.step, site, point.kind, point.subject, point.op, inputs, first, own=own)
    return facts if point.kind not in _WRITES else _of_assignment(facts, write)


def _of_assignment(facts: PointFacts, write: VariableWrite | None) -> PointFacts:
    """Returns the facts of a write of all replicas, with the value that it combined, where that is known."""
    before = None if write is None else leaves_of(write.before[:1])
    after = None if write is None else leaves_of(write.after[:1])
    if facts.own or not before or not after or len(facts.outputs) != 1:
        return facts._replace(kept=True)
    return facts._replace(kept=True, outputs=(_combined(facts, before[0], after[0]),), before=before)


def _of_source(point: SyncPoint) -> PointFacts | None:
    """Returns the values that a `run` returned, or that a merge call received: the program combines them itself."""
    rows = [leaves_of(row) for row in (point.outputs if point.kind == "run" else point.inputs)]
    known = tuple([row for row in rows if row])
    if not known or len(known) < len(rows):
        return None
    return PointFacts(point.step, point.sites[0] if point.sites else "", point.kind, None, None, known, ())


def _combined(facts: PointFacts, before: Host, after: Host) -> Host:
    """Returns the value that a write of all replicas combined: the one that makes `after` of `before`."""
    terms = [term[0] for term in facts.inputs if len(term) == 1 and term[0].shape == after.shape]
    if len(terms) == len(facts.inputs):
        wanted = _apply(facts.what)
        for candidate in _candidates(facts.op, terms):
            made = wanted(wide(before), wide(candidate))
            size = max([float(np.abs(wide(one)).max(initial=0)) for one in (before, after, candidate)])
            if float(np.abs(made - wide(after)).max(initial=0)) <= _NEAR * max(unit_of(after), 1e-300) * size:
                return candidate
    changed = after if facts.what == "assign" else after - before
    return np.asarray(changed if facts.what != "assign_sub" else -changed)


def _apply(operation: str) -> Callable[[Host, Host], Host]:
    return {
        "assign": lambda before, value: value,
        "assign_add": lambda before, value: before + value,
        "assign_sub": lambda before, value: before - value,
    }[operation]


def _candidates(op: str | None, terms: list[Host]) -> Iterator[Host]:
    """Yields what the replicas' values may have been combined to, the likeliest first."""
    dtype = terms[0].dtype
    total = np.add.reduce([wide(term) for term in terms])
    if op == "SUM":
        yield np.asarray(total, dtype)
    elif op == "MEAN":
        yield np.asarray(total / len(terms), dtype if dtype.kind in "fcV" else np.float64)
    yield terms[0]


def _of_write(write: VariableWrite, points: dict[int, SyncPoint], firsts: Collection[str]) -> PointFacts | None:
    """Returns the facts of a write that no point of its own describes: outside replica functions, in merge calls.

    firsts: as of `_of_first_replica`.
    """
    point = None if write.point is None else points.get(write.point)
    if point is not None and point.kind in _WRITES:
        return None
    after, before = leaves_of(write.after), leaves_of(write.before)
    if after is None or not after or before is None:
        return None
    values, ulp = list(after), 0.0
    if write.operation in _ADDING and len(before) == len(after):
        sign = -1 if write.operation == "assign_sub" else 1
        ulp = _difference_unit(before[0], after[0])
        values = [np.asarray((new - old) * after[0].dtype.type(sign)) for old, new in zip(before, after, strict=True)]
    terms = tuple([(value,) for value in values])
    own = any(value.tobytes() != values[0].tobytes() for value in values[1:])
    op = FIRST_REPLICA if write.operation == STEP_CHANGES and write.variable in firsts else None
    return PointFacts(
        write.step, write.site, write.operation, write.variable, op, terms, (values[0],), kept=True, own=own, ulp=ulp
    )


def _difference_unit(before: Host, after: Host) -> float:
    """Returns how far rounding moves the difference of two arrays [any shape], relative to its largest element."""
    sizes = [float(np.abs(wide(one)).max(initial=0)) for one in (before, after)]
    if before.shape != after.shape or not np.isfinite(sizes).all():
        return 0.0
    change = float(np.abs(wide(after) - wide(before)).max(initial=0))
    return unit_of(after) * max(sizes) / change if change else 0.0


def _updates(
    writes: Sequence[VariableWrite], alone: Mapping[str, str | None], replicas: int
) -> tuple[list[PointFacts], list[VariableWrite]]:
    """Returns the writes by which all components of a variable get one value, as in `update`, and the other writes."""
    found: list[PointFacts] = []
    rest: list[VariableWrite] = []
    for (step, variable, operation, site), group in _grouped(writes).items():
        facts = []
        for first in range(0, len(group), max(replicas, 1)):
            some = group[first : first + replicas]
            values = [_change(write) for write in some]
            known = [value for value in values if value is not None]
            whole = {write.replica for write in some} == set(range(replicas)) and len(known) == len(some) == replicas
            if not whole or any(value.tobytes() != known[0].tobytes() for value in known[1:]):
                break
            terms = tuple([(value,) for value in known])
            one = PointFacts(step, site, operation, variable, None, terms, (known[0],), kept=True)
            facts.append(one._replace(number=some[0].number))
        if variable in alone or len(facts) * replicas != len(group):
            rest += group
        else:
            found += facts
    return found, rest


def _grouped(writes: Sequence[VariableWrite]) -> dict[tuple[int, str, str, str], list[VariableWrite]]:
    """Returns the writes of each step, variable, operation and line."""
    groups: dict[tuple[int, str, str, str], list[VariableWrite]] = {}
    for write in writes:
        groups.setdefault((write.step, write.variable, write.operation, write.site), []).append(write)
    return groups


def _change(write: VariableWrite) -> Host | None:
    """Returns what one component is assigned, or by how much it changes; None where that is not recorded."""
    after, before = leaves_of(write.after), leaves_of(write.before)
    if after is None or before is None or len(after) != 1 or len(before) != 1:
        return None
    if write.operation not in _ADDING:
        return after[0]
    sign = -1 if write.operation == "assign_sub" else 1
    return np.asarray((after[0] - before[0]) * after[0].dtype.type(sign))


def _own_writes(
    writes: Sequence[VariableWrite], aggregations: Mapping[str, str | None], replicas: int
) -> Iterator[PointFacts]:
    """Yields the facts of components that replicas write alone, where not all of them do."""
    for (step, variable, operation, site), group in _grouped(writes).items():
        last: dict[int, Leaves] = {}
        for write in group:
            after = leaves_of(write.after)
            if after is not None:
                last[write.replica or 0] = after
        if last:
            terms = tuple([last.get(rank, ()) for rank in range(max(replicas, max(last) + 1))])
            facts = PointFacts(step, site, operation, variable, aggregations.get(variable), terms, (), own=True)
            changes = {write.replica or 0: _change(write) for write in group}
            known = [(change,) for rank in range(len(terms)) for change in [changes.get(rank)] if change is not None]
            added = tuple(known) if len(known) == len(terms) == len(group) and operation != "assign" else ()
            yield facts._replace(number=group[-1].number, added=added)


def _results(recording: Recording) -> Iterator[PointFacts]:
    """Yields the results; the components of one distributed result as one fact."""
    steps = max([point.step for point in recording.points], default=0)
    groups: dict[str, list[Host]] = {}
    for result in recording.results[:1]:
        for path, value in result.leaves:
            if value.array is not None and value.array.dtype.kind in "biuf" and not path.startswith("variable "):
                groups.setdefault(_OF_REPLICA.sub("", path), []).append(value.array)
    for path, arrays in groups.items():
        terms = tuple([(array,) for array in arrays]) if len(arrays) > 1 else ()
        own = any(array.tobytes() != arrays[0].tobytes() for array in arrays[1:])
        yield PointFacts(steps, "", "result", path, None, terms, (arrays[0],), kept=True, own=own)
