"""Faults that are planted in a run, at the k-th synchronisation point of one replica.

The backend of the run is wrapped. `prepare` gives each replica's context another `suspend`, through which all its
synchronisation points go: a strategy that is made without the wrapper pays nothing for it. What comes of a fault is
judged in `aftermath.py`.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, Literal, NamedTuple, NoReturn, final

import numpy as np

from simstrategy import tree
from simstrategy.check.in_replicas import in_replicas
from simstrategy.device import Array, Backend, Cell, Device
from simstrategy.device.wrapper import Wrapper
from simstrategy.errors import InvalidType, PeerFailed, Unsupported
from simstrategy.run import PendingCall, Suspend
from simstrategy.trace import Request

__all__ = ["Fault", "FaultKind", "FaultyBackend", "InjectedFault", "Injector", "ReplicaKilled", "Slow", "WatchedCell"]

FaultKind = Literal["exception", "inf", "inf in its input", "early end", "slow", "dead", "stopped", "answer"]


_INPUT: Final = "inf in its input"


class Fault(NamedTuple):
    """One fault.  replica: its rank. point: the replica's synchronisation point, from 1; of an input, the run.

    leaf: of an input, its number among the leaves of the arguments.
    """

    kind: FaultKind
    replica: int
    point: int
    leaf: int = 0


class InjectedFault(RuntimeError):
    """Planted by the law of faults: it stands for any exception of a program, a framework or a device."""


class ReplicaKilled(BaseException):
    """Ends a replica's task as if it was killed: no `except Exception` catches it."""


class _EndEarly(BaseException):
    """Ends a replica function at a synchronisation point, as if it had returned."""


@final
class Injector:
    """What several wrapped backends of one run share: the fault, where each replica is, and what was seen.

    fault: None for a run that only counts. calls: the request and call site of each point of the first replica.
    inputs: of each run and each replica, the arrays of floats among its arguments, by number.
    """

    def __init__(self, fault: Fault | None = None) -> None:
        self.fault = fault
        self.fired = False
        self.raised: BaseException | None = None
        """What was raised in a replica, for tracing where it was caught."""
        self.answering = False
        """Whether the answer of the fault's point is being made, in which a write may fail."""
        self.calls: list[PendingCall[Any, Any]] = []
        self.inputs: list[dict[int, dict[int, Any]]] = []
        self.arrived: dict[int, int] = {}
        self._runs: dict[int, int] = {}
        self._counts = True

    def disarm(self) -> None:
        """Plants and counts nothing any more: for the next run of the program."""
        self.fault, self._counts = None, False

    def raise_in_replica(self, error: BaseException) -> NoReturn:
        self.fired, self.raised = True, error
        raise error

    def arrive(self, rank: int, call: tuple[Any, ...], *, first: bool) -> int:
        """Counts a synchronisation point of a replica; returns its number, from 1.  first: whether it is the first."""
        point = self.arrived[rank] = self.arrived.get(rank, 0) + 1
        if first and self._counts:
            self.calls.append(PendingCall(*call))
        return point

    def begin(self, rank: int, leaves: Sequence[Any], backend: Backend) -> int:
        """Counts a run of a replica function; returns its number, from 1."""
        number = self._runs[rank] = self._runs.get(rank, 0) + 1
        if not self._counts:
            return number
        while len(self.inputs) < number:
            self.inputs.append({})
        self.inputs[number - 1][rank] = {place: leaf for place, leaf in enumerate(leaves) if _has_floats(leaf, backend)}
        return number

    def own_inputs(self, rank: int) -> list[tuple[int, int]]:
        """Returns run and leaf of the first array of floats, in each run, that a replica shares with no other."""
        found = []
        for run, every in enumerate(self.inputs, 1):
            others = [one for other, leaves in every.items() if other != rank for one in leaves.values()]
            mine = every.get(rank, {}).items()
            own = [place for place, one in mine if not any(one is other for other in others)]
            found += [(run, own[0])] if own else []
        return found


@final
class WatchedCell:
    """A component of a variable: counts its writes, and fails one where the fault is in the answer of a point."""

    __slots__ = ("_injector", "_inner", "_rank", "writes")

    def __init__(self, inner: Cell, injector: Injector, rank: int) -> None:
        self._inner = inner
        self._injector = injector
        self._rank = rank
        self.writes = 0

    @property
    def native(self) -> Any:
        return self._inner.native

    def read(self) -> Array:
        return self._inner.read()

    def write(self, value: Array, /) -> None:
        injector = self._injector
        if injector.answering and injector.fault is not None and self._rank == injector.fault.replica:
            injector.answering = False  # what undoes the write succeeds
            raise InjectedFault(f"A write to the component of replica {self._rank} fails.")
        self._inner.write(value)
        self.writes += 1


@final
class FaultyBackend(Wrapper):
    """Plants the fault of an injector in the replicas of a backend.

    Cells are watched where no framework has variables of its own in them.
    """

    __slots__ = ("_dead", "_injector", "_ranks", "watches")

    def __init__(self, inner: Backend, injector: Injector) -> None:
        Wrapper.__init__(self, inner)
        self._injector = injector
        self._dead = False
        self._ranks = {device.placement: device.rank for device in inner.local_devices}
        self.watches = inner.frontend is None and inner.compilation is None

    def cell(self, initial: Array) -> Cell:
        cell = self._inner.cell(initial)
        rank = self._ranks.get(self._inner.spec(initial)[2])
        return WatchedCell(cell, self._injector, rank) if self.watches and rank is not None else cell

    def exchange(self, note: bytes, *, timeout_s: float | None) -> tuple[bytes, ...]:
        if self._dead:
            raise PeerFailed("This worker is dead: it sends nothing.")
        return self._inner.exchange(note, timeout_s=timeout_s)

    def prepare(self, function: Callable[..., Any]) -> Callable[..., Any]:
        inner = self._inner.prepare(function)
        return in_replicas(inner, self.local_devices, self._suspend, self._call)

    def _call(self, function: Callable[..., Any], device: Device, args: Any, kwargs: Any) -> Any:
        leaves, structure = tree.flatten((args, kwargs))
        run = self._injector.begin(device.rank, leaves, self._inner)
        fault = self._injector.fault
        if fault is not None and (fault.kind, fault.replica, fault.point) == (_INPUT, device.rank, run):
            leaves[fault.leaf] = self._inf_in(leaves[fault.leaf], device)
            changed: Any = tree.unflatten(structure, leaves)
            args, kwargs = changed
        try:
            return function(*args, **kwargs)
        except _EndEarly:
            return None

    def _suspend(self, device: Device, suspend: Suspend) -> Suspend:
        injector, rank = self._injector, device.rank

        def planted(*call: Any) -> Any:
            point = injector.arrive(rank, call, first=rank == self.devices[0].rank)
            fault = injector.fault
            if fault is None or fault.point != point or fault.kind == _INPUT:
                return suspend(*call)
            if fault.kind == "answer":
                return suspend(*self._failing(PendingCall(*call)))
            if fault.replica == rank:
                self._raise(fault.kind)
                if fault.kind == "inf":
                    call = PendingCall(*call)
                    call = call._replace(payload=self._payload(call.request, call.payload, device))
            return suspend(*call)

        return planted

    def _raise(self, kind: FaultKind) -> None:
        injector = self._injector
        if kind == "exception":
            injector.raise_in_replica(InjectedFault("An exception before a collective call."))
        if kind == "early end":
            injector.raise_in_replica(_EndEarly())
        if kind == "dead":
            self._dead = len(self.local_devices) < len(self.devices)
            injector.raise_in_replica(ReplicaKilled("The task of this replica was killed."))

    def _failing(self, call: PendingCall[Any, Any]) -> PendingCall[Any, Any]:
        """Returns a call whose answer fails when the values are combined: at a write, or at the end."""
        injector = self._injector

        def resolve(request: Request, payloads: Sequence[Any], sizes: tuple[int, ...]) -> Sequence[Any]:
            injector.fired = injector.answering = True
            try:
                call.resolve(request, payloads, sizes)
            finally:
                injector.answering = False
            raise InjectedFault("The answer to a collective call fails after the values were combined.")

        return call._replace(resolve=resolve)

    # Values that are not finite.

    def _payload(self, request: Request, payload: Any, device: Device) -> Any:
        """Returns what a replica brings to a point, with inf in its first float array; itself without one."""
        if request.kind.startswith("assign"):
            _, array, site = payload
            bad = self._inf_in(array, device)
            return payload if bad is array else (bad, bad, site)
        if request.kind in ("merge_call", "update"):
            return payload._replace(args=self._first_inf(payload.args, device))
        return self._first_inf(payload, device)

    def _first_inf(self, nest: Any, device: Device) -> Any:
        leaves, structure = tree.flatten(nest)
        for number, leaf in enumerate(leaves):
            bad = self._inf_in(leaf, device)
            if bad is not leaf:
                return tree.unflatten(structure, [*leaves[:number], bad, *leaves[number + 1 :]])
        return nest

    def _inf_in(self, array: Any, device: Device) -> Any:
        """Returns an array [any shape] of floats with inf as its first element; any other value itself."""
        if not _has_floats(array, self._inner):
            return array
        try:
            host = np.array(array if type(array) is np.ndarray else self._inner.get(array))
        except (InvalidType, Unsupported):
            return array  # a framework traces, and has no value yet
        host[(0,) * host.ndim] = np.inf
        self._injector.fired = True
        return host if type(array) is np.ndarray else self._inner.put(host, device)


def _has_floats(value: Any, backend: Backend) -> bool:
    if isinstance(value, backend.array_types):
        shape, dtype, _ = backend.spec(value)
        return dtype.startswith(_FLOATS) and 0 not in shape and None not in shape
    return type(value) is np.ndarray and value.dtype.kind == "f" and value.size > 0


_FLOATS: Final = ("float", "bfloat", "complex")


@final
class Slow:
    """A schedule in which one replica runs after all others on its way to one point, and in rank order elsewhere."""

    def __init__(self, injector: Injector, replicas: int) -> None:
        self._injector = injector
        self._replicas = replicas
        self._left: list[int] = []
        self._delays = False

    @property
    def name(self) -> str:
        fault = self._injector.fault
        return "InOrder()" if fault is None else f"replica {fault.replica} last at point {fault.point}"

    def choose(self, label: str, n: int) -> int:
        fault = self._injector.fault
        if label != "task" or fault is None:
            return 0
        if n == self._replicas:  # a round begins
            self._left = list(range(n))
            self._delays = max(self._injector.arrived.values(), default=0) == fault.point - 1
            self._injector.fired = self._injector.fired or self._delays
        taken = next(place for place, one in enumerate(self._left) if not self._delays or one != fault.replica)
        self._left.pop(taken)
        return taken
