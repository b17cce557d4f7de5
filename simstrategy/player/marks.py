"""Places to jump to: errors, unequal parts, values that are not finite, variables that diverged."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from simstrategy.player.components import Components, writes_at
from simstrategy.player.stops import BEGINS, ENDS, Event, Stop
from simstrategy.trace import Recording, Result, StepParts, SyncPoint, Value, VariableWrite

__all__ = ["MARKS", "marks_of"]

MARKS: Final = ("error", "unequal", "not_finite", "diverged")
_KEPT: Final = 10_000
"""Of one kind."""


def marks_of(
    recording: Recording, columns: Sequence[Sequence[int]], events: Sequence[Event], stops: Sequence[Stop]
) -> dict[str, list[int]]:
    """Returns for each kind of mark the numbers of its stops.

    Of the values that variables and names begin with only NaN counts as not finite, since a search for the least value
    begins with infinity. A variable counts as diverged where a run ends and components that should be equal are not:
    until then some replicas may have written and others not.
    """
    found: dict[str, list[int]] = {kind: [] for kind in MARKS}
    components = Components(recording, columns)
    writes = writes_at(recording)
    for place, stop in enumerate(stops):
        event = events[stop.event]
        if _has_error(event) and stop.phase != BEGINS:
            found["error"].append(place)
        if isinstance(event, StepParts) and len({count for _, count in event.rows}) > 1:
            found["unequal"].append(place)
        changed = [_not_finite(components.held(write), components.write(write)) for write in writes(event, stop)]
        if any(changed if _is_variable(event) else (value.not_finite for value in _values_at(event, stop))):
            found["not_finite"].append(place)
        has_run = isinstance(event, SyncPoint) and event.kind == "run" and stop.phase != BEGINS
        if has_run and components.newly_differing(event.worker):
            found["diverged"].append(place)
    return {kind: places[:_KEPT] for kind, places in found.items()}


def _has_error(event: Event) -> bool:
    if isinstance(event, SyncPoint):
        return event.error is not None or bool(event.requests)
    return isinstance(event, Result) and event.error is not None


def _is_variable(event: Event) -> bool:
    """Returns whether an event gives a value to a variable or a name, and does nothing else with values."""
    return isinstance(event, VariableWrite) or (isinstance(event, SyncPoint) and event.kind == "variable")


def _not_finite(before: Mapping[int, Value], after: Mapping[int, Value]) -> bool:
    """Returns whether a component was written that is NaN, or that is infinite and was finite before."""
    written = ((rank, value) for rank, value in after.items() if value.not_finite and before.get(rank) is not value)
    return any(_has_nan(value) or (rank in before and not before[rank].not_finite) for rank, value in written)


def _has_nan(value: Value) -> bool:
    """Returns whether an element is NaN, or may be: of a value that is not whole that is not known."""
    return value.array is None or bool(np.isnan(value.array).any())


def _values_at(event: Event, stop: Stop) -> Iterator[Value]:
    if isinstance(event, SyncPoint):
        rows = [*(event.inputs if stop.phase != ENDS else ()), *(event.outputs if stop.phase != BEGINS else ())]
        for row in rows:
            yield from row
    elif isinstance(event, Result):
        yield from (value for _, value in event.leaves)
