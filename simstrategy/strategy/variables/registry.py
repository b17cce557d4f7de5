"""The variables of a group, in creation order, and the search for ON_WRITE variables whose components differ.

Aggregated writes are equal by construction and are not compared. Components that replicas write one by one are compared
when the run has ended, or when the variable is next read outside replica functions.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, Final, Protocol, final

import numpy as np

from simstrategy.device import Array, Backend
from simstrategy.errors import InvalidType, MirroredDiverged, OneReplicasShare, ReplicasDisagree, Unsupported
from simstrategy.run import Coordinator, StatusMessage
from simstrategy.strategy.bits import fingerprint, plain
from simstrategy.strategy.enums import AGGREGATIONS
from simstrategy.strategy.variables.identity import VariableIdentity
from simstrategy.strategy.variables.policies import Policy
from simstrategy.trace import Site, describe_site, warn_at

__all__ = ["VariableRegistry"]

_UNREADABLE: Final = 0
"""The fingerprint of an array without a value, while a framework traces."""

_NAMED_MAX: Final = 8


class _State(Protocol):
    """The part of `state.VariableState` that the registry reads."""

    @property
    def name(self) -> str: ...
    @property
    def policy(self) -> Policy: ...
    @property
    def components(self) -> tuple[Array, ...]: ...


@final
class VariableRegistry:
    """The variables of one strategy, the last write of single components, and which warnings were given."""

    def __init__(self, coordinator: Coordinator) -> None:
        self._coordinator = coordinator
        self.created: list[Any] = []
        """The strategy's `Variable`s, in creation order."""
        self._names: Counter[str] = Counter()
        self._states: dict[_State, int] = {}
        """Theirs, in the same order, and the number of each."""
        self._written: dict[_State, tuple[str, Site]] = {}
        self._traced: dict[_State, tuple[str, Site]] = {}
        """Written while a framework traced: there were no values, and what was traced may run again and again."""
        self._warned: set[tuple[int, Site]] = set()
        self._exposed: dict[_State, tuple[str, Site]] = {}
        """Of which the program has the framework's variables, and where it took the first one."""
        self._compares_workers = False
        self.journal: list[tuple[Any, int, Array]] | None = None
        """What the update that runs now has written: storage, component, and its value before; None where none runs."""
        self.pending = False
        """Whether there is something to compare when a run ends."""

    def add(self, variable: object, state: _State) -> None:
        """Adds a new variable, made with `identify`.

        Where workers may write components one by one, all compare after every run.
        """
        self.created.append(variable)
        self._names[state.name] += 1
        self._states[state] = len(self._states)
        if state.policy.may_diverge and self._coordinator.processes > 1 and self._coordinator.checks:
            self._compares_workers = self.pending = True

    def identify(self, name: str, made: Site) -> VariableIdentity:
        """Returns the identity of the variable that is added next.  made: its call site."""
        return VariableIdentity(name, len(self.created), made, self._names)

    def written(self, state: _State, kind: str, site: Site) -> None:
        """Notes that a replica has written its component of a mirrored variable alone."""
        if self._coordinator.checks:
            self._written[state] = (kind, site)
            self.pending = True

    def expose(self, state: _State, site: Site) -> None:
        """Notes that the program has the framework's variable of a component of a mirrored variable."""
        if self._coordinator.checks:
            self._exposed[state] = ("a write through `.native`", site)
            # Workers learn at the end of a run that one of them has to compare.
            self.pending = self.pending or self._coordinator.processes == 1

    @property
    def exposed(self) -> int:
        """The number of variables whose native ones the program has."""
        return len(self._exposed)

    def fingerprints(self, arrays: Sequence[Array], *, apart: bool) -> tuple[int, ...]:
        """Returns a number for each array [any shape] of a write outside replica functions, equal for equal values.

        apart: they were given one by one. Returns () where they are not compared.
        """
        if not self._coordinator.checks or not (apart or self._coordinator.processes > 1):
            return ()
        return tuple([_fingerprint(self._coordinator.backend, array) for array in arrays])

    def compare(self, prints: Sequence[int], state: _State, kind: str, site: Site) -> None:
        """Warns, or raises where checks are strict, if not all ranks' numbers are equal.  Once per call site."""
        if len(prints) != len(self._coordinator.backend.devices) or _UNREADABLE in prints:
            return
        different = [rank for rank, one in enumerate(prints) if one != prints[0]]
        self._report(different, state, kind, site)

    def check(self, state: _State) -> None:
        """Compares a variable that is about to be read, if all its components are here."""
        how = self._written.pop(state, None) or self._traced.get(state) or self._exposed.get(state)
        if how is not None and self._coordinator.processes == 1:
            self._compare_here(state, *how)

    def end_run(self) -> None:
        """Compares the variables whose components replicas have written one by one."""
        written, self._written = self._exposed | self._written, {}
        self.pending = self._compares_workers or bool(self._exposed and self._coordinator.processes == 1)
        if self._coordinator.processes == 1:
            for state in self._in_order(written):
                self._compare_here(state, *written[state])
        else:
            self._compare_workers(written)

    def warn_of_share(self, state: _State, method: str, site: Site) -> None:
        """Warns, once for each call site and variable, that a read outside a scope gives one of several components."""
        key = (self._states[state], site)
        if self._coordinator.checks and len(self._coordinator.backend.devices) > 1 and key not in self._warned:
            self._warned.add(key)
            rank = self._coordinator.ranks[0]
            text = (
                f"{method} of the ON_READ variable {state.name!r} at {describe_site(site)}, outside of a scope, gives "
                f"replica {rank}'s component alone in this profile, as TensorFlow 1.x does. Read it inside "
                f"`with strategy.scope():` for the aggregate of all replicas."
            )
            warn_at(OneReplicasShare(text), site)

    def _compare_here(self, state: _State, kind: str, site: Site) -> None:
        if (self._states[state], site) in self._warned:
            return
        backend = self._coordinator.backend
        try:
            first, *others = [backend.get(array) for array in state.components]
        except (InvalidType, Unsupported):
            self._traced[state] = (kind, site)
            return
        self._report([rank for rank, one in enumerate(others, 1) if not _same(one, first)], state, kind, site)

    def _in_order(self, written: Iterable[_State]) -> list[_State]:
        """Returns the variables of this strategy among these, in creation order."""
        return sorted((one for one in written if one in self._states), key=self._states.__getitem__)

    def _compare_workers(self, written: dict[_State, tuple[str, Site]]) -> None:
        """Exchanges with all workers which variables their replicas have written, then the components' fingerprints."""
        coordinator = self._coordinator
        mine = [self._states[one] for one in self._in_order(written)]
        numbers = sorted({*self._exchange("which variables replicas have written", mine)})
        if not numbers:
            return
        states = [*self._states]
        values = [_fingerprint(coordinator.backend, one) for number in numbers for one in states[number].components]
        received = iter(self._exchange("what replicas have written", values))
        prints: dict[int, list[int]] = {number: [] for number in numbers}
        counts = Counter(device.process for device in coordinator.backend.devices)
        for worker in range(coordinator.processes):
            for number in numbers:
                prints[number] += islice(received, counts[worker])
        for number in numbers:
            state = states[number]
            self.compare(prints[number], state, *written.get(state, ("a write of another worker", ("", 0))))

    def _exchange(self, what: str, numbers: Sequence[int]) -> tuple[int, ...]:
        line = f"worker {self._coordinator.worker}: compare {what}"
        return self._coordinator.exchange(StatusMessage("request", what, (line,), tuple(numbers)))

    def _report(self, ranks: Sequence[int], state: _State, kind: str, site: Site) -> None:
        key = (self._states[state], site)
        if not ranks or key in self._warned:
            return
        named = ", ".join(map(str, ranks[:_NAMED_MAX])) + (", …" if len(ranks) > _NAMED_MAX else "")
        who = f"replica {named} holds" if len(ranks) == 1 else f"replicas {named} hold"
        where = f" at {describe_site(site)}" if site[0] else ""
        text = (
            f"{kind} of variable {state.name!r}{where} left its components unequal: {who} another "
            f"value than replica 0, which is all that is read outside replica functions. Write one value everywhere, "
            f"or make the variable with one of {AGGREGATIONS}, or ON_READ."
        )
        if self._coordinator.checks == "strict":
            raise ReplicasDisagree(text)
        self._warned.add(key)
        warn_at(MirroredDiverged(text), site)


def _same(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> bool:
    return np.array_equal(one, other) or plain(one).tobytes() == plain(other).tobytes()


def _fingerprint(backend: Backend, array: Array) -> int:
    try:
        host = backend.get(array)
    except (InvalidType, Unsupported):
        return _UNREADABLE
    return fingerprint(plain(host).tobytes())
