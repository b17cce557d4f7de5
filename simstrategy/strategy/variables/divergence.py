"""Divergence is named: finds writes that leave the components of an ON_WRITE variable unequal, and says so.

Aggregated writes are equal by construction and never looked at. What replicas write for themselves is
compared when their run has ended, or when the variable is next read outside replica functions.
"""

import warnings
from collections.abc import Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from simstrategy.device import Array, Backend
from simstrategy.errors import InvalidType, MirroredDiverged, ReplicasDisagree, Unsupported
from simstrategy.run import MeetingRoom, Note
from simstrategy.strategy.enums import AGGREGATIONS
from simstrategy.trace import Site, describe_site

if TYPE_CHECKING:
    from simstrategy.strategy.variables.variable import Variable

__all__ = ["Divergence"]

_UNREADABLE: Final = 0
"""Stands for a value that is not there yet, because a framework traces."""

_NAMED_MAX: Final = 8


@final
class Divergence:
    """What one strategy's variables were last written with by single replicas, and what was warned of."""

    def __init__(self, room: MeetingRoom, created: "list[Variable]") -> None:
        self._room = room
        self._created = created
        self._written: dict[Variable, tuple[str, Site]] = {}
        self._traced: dict[Variable, tuple[str, Site]] = {}
        """Written while a framework traced: there were no values, and what was traced may run again and again."""
        self._warned: set[tuple[int, Site]] = set()
        self._watches_workers = False
        self.pending = False
        """Whether there is something to compare when a run ends."""

    def watch(self, variable: "Variable") -> None:
        """Is told of a new variable: where workers may write one apart, they all ask each other after every run."""
        apart = variable.policy.may_diverge
        if apart and self._room.processes > 1 and self._room.checks:
            self._watches_workers = self.pending = True

    def written(self, variable: "Variable", kind: str, site: Site) -> None:
        """Is told that a replica has written its component of a mirrored variable alone."""
        if self._room.checks:
            self._written[variable] = (kind, site)
            self.pending = True

    def fingerprints(self, arrays: Sequence[Array], *, apart: bool) -> tuple[int, ...]:
        """Returns a number for each array of a write outside replica functions, equal for equal values.

        apart: they were given one by one. Returns () where nobody would compare them.
        """
        if not self._room.checks or not (apart or self._room.processes > 1):
            return ()
        return tuple([_fingerprint(self._room.backend, array) for array in arrays])

    def compare(self, prints: Sequence[int], variable: "Variable", kind: str, site: Site) -> None:
        """Warns, or raises where checks are strict, if not all ranks' numbers are equal.  Once per call site."""
        if len(prints) != len(self._room.backend.devices) or _UNREADABLE in prints:
            return
        different = [rank for rank, one in enumerate(prints) if one != prints[0]]
        self._tell(different, self._created.index(variable), kind, site)

    def check(self, variable: "Variable") -> None:
        """Compares a variable that is about to be read, if all its components are here."""
        how = self._written.pop(variable, None) or self._traced.get(variable)
        if how is not None and self._room.processes == 1:
            self._compare_here(self._created.index(variable), *how)

    def end_run(self) -> None:
        """Compares what replicas have written for themselves."""
        written, self._written = self._written, {}
        self.pending = self._watches_workers
        if self._room.processes == 1:
            for number, variable in enumerate(self._created):
                if variable in written:
                    self._compare_here(number, *written[variable])
        else:
            self._compare_workers(written)

    def _compare_here(self, number: int, kind: str, site: Site) -> None:
        if (number, site) in self._warned:
            return
        backend = self._room.backend
        try:
            first, *others = [backend.get(array) for array in self._created[number].components]
        except (InvalidType, Unsupported):
            self._traced[self._created[number]] = (kind, site)
            return
        self._tell([rank for rank, one in enumerate(others, 1) if not _same(one, first)], number, kind, site)

    def _compare_workers(self, written: "dict[Variable, tuple[str, Site]]") -> None:
        """Asks all workers which variables their replicas have written, then what is in those."""
        room = self._room
        mine = [number for number, one in enumerate(self._created) if one in written]
        asked = sorted({*self._exchange("which variables replicas have written", mine)})
        if not asked:
            return
        values = [_fingerprint(room.backend, one) for number in asked for one in self._created[number].components]
        told = iter(self._exchange("what replicas have written", values))
        prints: dict[int, list[int]] = {number: [] for number in asked}
        counts = [device.process for device in room.backend.devices]
        for worker in range(room.processes):
            for number in asked:
                prints[number] += [next(told) for _ in range(counts.count(worker))]
        for number in asked:
            variable = self._created[number]
            self.compare(prints[number], variable, *written.get(variable, ("a write of another worker", ("", 0))))

    def _exchange(self, what: str, numbers: Sequence[int]) -> tuple[int, ...]:
        room = self._room
        return room.exchange(Note("request", what, (f"worker {room.worker}: compare {what}",), tuple(numbers)))

    def _tell(self, ranks: Sequence[int], number: int, kind: str, site: Site) -> None:
        if not ranks or (number, site) in self._warned:
            return
        named = ", ".join(map(str, ranks[:_NAMED_MAX])) + (", …" if len(ranks) > _NAMED_MAX else "")
        who = f"replica {named} holds" if len(ranks) == 1 else f"replicas {named} hold"
        where = f" at {describe_site(site)}" if site[0] else ""
        text = (
            f"{kind} of variable {self._created[number].name!r}{where} left its components unequal: {who} another "
            f"value than replica 0, which is all that is read outside replica functions. Write one value everywhere, "
            f"or make the variable with one of {AGGREGATIONS}, or ON_READ."
        )
        if self._room.checks == "strict":
            raise ReplicasDisagree(text)
        self._warned.add((number, site))
        warnings.warn(MirroredDiverged(text), stacklevel=2)


def _same(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> bool:
    return one.tobytes() == other.tobytes() or _plain(one).tobytes() == _plain(other).tobytes()


def _plain(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Returns an array with one zero and one NaN: their signs and payloads are no difference of values."""
    if array.dtype.kind not in "fc":
        return array
    parts = array if array.dtype.kind == "f" else np.stack([array.real, array.imag])
    return np.where(np.isnan(parts), np.asarray(np.nan, parts.dtype), parts + np.asarray(0, parts.dtype))


def _fingerprint(backend: Backend, array: Array) -> int:
    try:
        host = backend.get(array)
    except (InvalidType, Unsupported):
        return _UNREADABLE
    return 1 + int.from_bytes(blake2b(_plain(host).tobytes(), digest_size=7).digest(), "little")
