"""How what a run has at a stop stands to what another run has there: equal, apart by rounding, or another value.

Only what all replicas have alike is compared: what each has for itself follows from the number of replicas.
"""

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

import numpy as np

from simstrategy.player.names import Held, differ
from simstrategy.player.stops import BEGINS, Event, Stop
from simstrategy.trace import SyncPoint, Value, VariableWrite

__all__ = ["OWN", "Compared", "near", "standings"]

OWN: Final = ("run", "merge_call", "update", "update_non_slot", "sizes", "next")
"""Calls of which each replica brings and gets values of its own, which follow from the number of replicas."""

_ULPS: Final = 80.0
"""Ulps of the largest element by which rounding alone may set floats apart: other parts add in another order."""
_WHOLE: Final = ("int", "uint", "bool")
_NOT_COMPARED, _EQUAL, _ROUNDED, _APART = "0123"

Names: TypeAlias = Mapping[int, Held]
Compared: TypeAlias = tuple[Sequence[Event], Sequence[Stop], Names]
"""A run: its events, its stops, and what replicas hold under a name, by the place of its event."""


def standings(reference: Compared, other: Compared, aligned: Sequence[int | None]) -> str:
    """Returns one sign for each stop of another run: 0 not compared, 1 equal bits, 2 maybe rounding, 3 another value.

    aligned: for each of these stops that of the reference.
    """
    return "".join(
        _NOT_COMPARED if there is None else _standing(_common(other, here), _common(reference, there))
        for here, there in enumerate(aligned)
    )


def _standing(one: Sequence[Value], two: Sequence[Value]) -> str:
    known = one and two and "" not in (value.digest for value in (*one, *two))
    if not known or [value.shape for value in one] != [value.shape for value in two]:
        return _NOT_COMPARED  # the shape of what is gathered follows from the number of replicas
    if [value.digest for value in one] == [value.digest for value in two]:
        return _EQUAL
    if all(value.dtype.startswith(_WHOLE) and not value.shape for value in one):
        return _NOT_COMPARED  # a count, such as the number of replicas
    return _ROUNDED if near(one, two) else _APART


def _common(run: Compared, place: int) -> Sequence[Value]:
    """Returns what all replicas have alike after a stop; nothing where they do not, or where it is not known."""
    events, stops, names = run
    stop = stops[place]
    event = events[stop.event]
    if isinstance(event, SyncPoint):
        rows: Sequence[Sequence[Value]] = () if stop.phase == BEGINS or event.kind in OWN else event.outputs
        return rows[0] if rows and all(_digests(row) == _digests(rows[0]) for row in rows) else ()
    if isinstance(event, VariableWrite) and event.replica is None:
        held = names.get(stop.event)
        if held is not None:
            return () if differ(held) else [*held.values()][:1]
        return event.after[:1] if len(set(_digests(event.after))) == 1 else ()
    return ()


def _digests(row: Sequence[Value]) -> list[str]:
    return [value.digest for value in row]


def near(one: Sequence[Value], two: Sequence[Value], *, factor: float = 1.0) -> bool:
    """Returns whether all of these are floats that rounding may have set apart, or equal, as far as known.

    factor: by which the first ones are multiplied.
    """
    return len(one) == len(two) and all(_near(*pair, factor) for pair in zip(one, two, strict=True))


def _near(one: Value, two: Value, factor: float) -> bool:
    if factor == 1 and one.digest == two.digest:
        return True
    if one.array is None or two.array is None or (one.dtype, one.shape) != (two.dtype, two.shape):
        return False
    left, right = one.array, two.array
    if left.dtype.kind != "f" or not (np.isfinite(left).all() and np.isfinite(right).all()):
        return False
    scaled = left.astype(np.float64) * factor
    bound = _ULPS * float(np.finfo(left.dtype).eps) * float(np.abs(scaled).max(initial=0))
    return bool(np.isfinite(bound) and np.abs(scaled - right).max(initial=0) <= bound)
