"""The components of each variable as the events come, and where those that should be equal are not."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, final

from simstrategy.player.stops import WHOLE, Event, Stop
from simstrategy.trace import Recording, SyncPoint, Value, VariableWrite
from simstrategy.trace.recording import HOLDS

__all__ = ["Components", "kept_apart", "made_at", "variables_of", "writes_at"]

Key = tuple[int, str]
"""A worker, and the name of a variable."""


def variables_of(recording: Recording) -> dict[Key, SyncPoint | None]:
    """Returns the point that made each variable, in order; None where it is not recorded.

    Of several with one name, which a recording does not distinguish, the point is None too.
    """
    points = {point.number: point for point in recording.points if point.kind == "variable"}
    found: dict[Key, SyncPoint | None] = {}
    for write in recording.writes:
        key = (write.worker, write.variable)
        point = points.get(write.point) if write.point is not None and write.operation == "create" else None
        if key not in found:
            found[key] = point
        elif write.operation == "create":
            found[key] = None
    return found


def made_at(made: Mapping[Key, SyncPoint | None]) -> dict[str, str]:
    """Returns for each variable the line that made it, such as ``train.py:12``, where that is known and is one line.

    made: what `variables_of` returns.
    """
    found: dict[str, set[str]] = {}
    for (_, name), point in made.items():
        found.setdefault(name, set()).update(("",) if point is None else set(point.sites) or {""})
    return {name: site for name, sites in found.items() if len(sites) == 1 and (site := next(iter(sites)))}


def writes_at(recording: Recording) -> Callable[[Event, Stop], Sequence[VariableWrite]]:
    """Returns a function from an event and its stop to the writes that are made there."""
    during: dict[int, list[VariableWrite]] = {}
    for write in recording.writes:
        if write.point is not None:
            during.setdefault(write.point, []).append(write)

    def found(event: Event, stop: Stop) -> Sequence[VariableWrite]:
        if isinstance(event, VariableWrite):
            return [event]
        return during.get(event.number, ()) if isinstance(event, SyncPoint) and stop.phase == WHOLE else ()

    return found


def kept_apart(name: str, point: SyncPoint) -> bool:
    """Returns whether each replica has a value of its own of a variable on purpose.  point: that made it."""
    return (point.subject or "")[len(name) :].split()[:1] == ["ON_READ"]


@final
class Components:
    """The components of all variables, after the writes so far."""

    __slots__ = ("_columns", "_differed", "_held", "_made")

    def __init__(self, recording: Recording, columns: Sequence[Sequence[int]]) -> None:
        self._columns = columns
        self._made = variables_of(recording)
        self._held: dict[Key, dict[int, Value]] = {}
        self._differed: set[Key] = set()

    def held(self, write: VariableWrite) -> Mapping[int, Value]:
        """Returns the components of the variable that is written, as they are now, by rank."""
        return dict(self._held.get((write.worker, write.variable), {}))

    def write(self, write: VariableWrite) -> Mapping[int, Value]:
        """Takes a write; returns the components after it, by rank."""
        key = (write.worker, write.variable)
        ranks = self._columns[write.worker] if write.worker < len(self._columns) else range(len(write.after))
        # A lone component may be shared by all replicas; what a name holds is not.
        is_shared = write.operation != HOLDS and len(self._held.get(key, ())) == 1
        if write.replica is not None and len(write.after) == 1 and not is_shared:
            self._held.setdefault(key, {})[write.replica] = write.after[0]
        else:
            # One component that all replicas share is the first one's.
            self._held[key] = dict(zip(ranks, write.after, strict=False))
        return dict(self._held[key])

    def newly_differing(self, worker: int) -> list[str]:
        """Returns the variables of a worker whose components should be equal, are not, and were at the last call."""
        differing = {key for key in self._held if key[0] == worker and self._differs(key)}
        new = [name for _, name in sorted(differing - self._differed)]
        self._differed = {key for key in self._differed if key[0] != worker} | differing
        return new

    def _differs(self, key: Key) -> bool:
        made = self._made[key]
        if made is None or kept_apart(key[1], made):
            return False
        values = [*self._held[key].values()]
        known: list[Any] = [value.digest for value in values]
        return len(set(known)) > 1 and all(known)
