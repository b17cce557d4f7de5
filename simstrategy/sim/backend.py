"""The simulator's `Backend`: any number of devices in one process.

Deterministic: no clock, no threads, and every sum in a defined order. With a `link` it is the backend of one worker
of a simulated cluster.
"""

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from simstrategy.device import PROTOCOL_VERSION, ArraySpec, Backend, Capabilities, Cell, Compilation, Device, Op, Spec
from simstrategy.device.host_data import can_change
from simstrategy.device.registry import require_device_names
from simstrategy.errors import InvalidArgument, InvalidType
from simstrategy.short_repr import short_repr
from simstrategy.sim import stacked as steps
from simstrategy.sim.arrays import Placement, SimArray, array_class, freeze, set_writeable, view
from simstrategy.sim.collectives import combine, order_named
from simstrategy.sim.dtypes import DTYPES, dtype_named, dtype_names
from simstrategy.sim.lines import last_line
from simstrategy.sim.namespace import SimNamespace

__all__ = ["Link", "SimBackend", "SimCell", "open_sim", "simulated_devices"]

Link = Callable[[str, Any, Callable[[list[Any]], Any]], Any]
"""Makes a group-call with the other workers.

Takes the name of the call, the part of this worker, and the function that computes one result from all parts.
"""

_Plain: Final = np.ndarray

_CAPABILITIES: Final = Capabilities(
    dtypes=frozenset((*DTYPES, "bfloat16")),
    executor="greenlet",
    reproducible_bits=True,
    mutable_arrays=True,
)


def simulated_devices(workers: int, replicas_per_worker: int) -> tuple[Device, ...]:
    """Returns the devices of a simulated cluster, in rank order."""
    return tuple(
        Device(rank=rank, process=rank // replicas_per_worker, placement=f"sim:{rank}")
        for rank in range(workers * replicas_per_worker)
    )


def open_sim(
    *,
    replicas: int | None = None,
    devices: Sequence[str] | None = None,
    order: str = "linear",
    stacked: bool = False,
) -> "SimBackend":
    """Opens a simulator of `replicas` devices in one process; the default is the number of `devices`, or 1.

    devices: their names, all different; default "sim:0", "sim:1", … order: of additions: `linear`, `ring` or
    `tree`, see `simstrategy.sim.collectives`. stacked: whether `Strategy.compile` makes one program of a step, which
    computes with arrays of all replicas at once; else it returns the step itself. Raises InvalidArgument for less than
    one replica, for equal names or another number of them, and for an unknown order.

    >>> [device.placement for device in open_sim(replicas=2).devices]
    ['sim:0', 'sim:1']
    """
    if devices is not None:
        require_device_names(devices)
    count = (1 if devices is None else len(devices)) if replicas is None else replicas
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise InvalidArgument(
            f"The simulator takes a number of replicas of at least 1, got {short_repr(count)}. Pass for example "
            f"replicas=2."
        )
    if devices is None:
        return SimBackend(simulated_devices(1, count), worker=0, order=order, stacked=stacked)
    if count != len(devices) or len(dict.fromkeys(devices)) != count:
        raise InvalidArgument(
            f"The simulator takes {count} different names for {count} replicas, got {short_repr(devices)}. Pass one "
            f"name for "
            f"each replica."
        )
    return SimBackend(
        tuple(Device(rank, 0, name) for rank, name in enumerate(devices)), worker=0, order=order, stacked=stacked
    )


@final
class SimCell:
    """A variable's storage: a reference to a read-only array, replaced by every write."""

    __slots__ = ("_kind", "value")

    def __init__(self, initial: SimArray) -> None:
        self._kind = type(initial)
        self.value = initial
        self.write(initial)

    @property
    def native(self) -> "SimCell":
        return self

    def read(self) -> SimArray:
        return self.value

    def write(self, value: SimArray) -> None:
        # An array that its maker can still write to is copied; a read-only one may be shared.
        self.value = freeze(np.array(value, copy=True, subok=False), self._kind) if can_change(value) else value


_set_value: Final = vars(SimCell)["value"].__set__
_PLAIN_CELLS: Final = frozenset((SimCell,))


@final
class SimForms:
    """Compares arrays by what NumPy gives in one call."""

    __slots__ = ()
    form: Final = attrgetter("shape", "dtype", "placement")


@final
class SimMemory:
    """The memory of all simulated devices of one process: NumPy's."""

    __slots__ = ("_local",)

    def __init__(self, local: tuple[type[SimArray], ...]) -> None:
        self._local = local
        """The array class of each local device."""

    def share(self, array: SimArray, cells: tuple[Cell[SimArray], ...] = ()) -> tuple[SimArray, ...]:
        set_writeable(array, False)
        shared = tuple(map(array.view, self._local))
        if set(map(type, cells)) == _PLAIN_CELLS:
            deque(map(_set_value, cells, shared), maxlen=0)  # read-only already, as `write` would make them
        else:
            for cell, one in zip(cells, shared, strict=False):
                cell.write(one)  # wrappers around these
        return shared


@final
class SimBackend:
    """The simulated devices of one process."""

    __slots__ = (
        "_classes",
        "_fold",
        "_link",
        "_local",
        "_placements",
        "compilation",
        "devices",
        "local_devices",
        "memory",
        "order",
        "source",
        "xp",
    )

    name = "sim"
    protocol_version = PROTOCOL_VERSION
    capabilities = _CAPABILITIES
    array_types = (SimArray,)
    autodiff = None
    frontend = None
    composites = None
    forms = SimForms()

    def __init__(
        self,
        devices: tuple[Device, ...],
        *,
        worker: int,
        order: str = "linear",
        link: Link | None = None,
        stacked: bool = False,
    ) -> None:
        self.devices = devices
        self.local_devices = tuple(device for device in devices if device.process == worker)
        self._classes = {device.rank: array_class(device) for device in self.local_devices}
        self._local = tuple(self._classes.values())
        self._placements = {rank: Placement(kind) for rank, kind in self._classes.items()}
        self.order = order
        """The order of additions, by name."""
        self.source = last_line()
        self._fold = order_named(order)
        self._link = link
        self.memory = SimMemory(self._local)
        self.xp = SimNamespace(self._local[0])
        self.compilation: Compilation[Any] | None = (
            steps.StackedCompilation(self._local, _CAPABILITIES, self.xp, order) if stacked else None
        )

    def on(self, device: Device) -> AbstractContextManager[None]:
        return self._placements[device.rank]

    def synchronize(self) -> None:
        """Does nothing: NumPy computes at once."""

    def close(self) -> None:
        """Does nothing: the simulator holds no resources."""

    def put(self, value: np.ndarray | SimArray, device: Device) -> SimArray:
        kind = self._classes[device.rank]
        if type(value) is _Plain and value.dtype in dtype_names:  # most host data, in the machine's byte order
            copy = value.copy()
            set_writeable(copy, False)  # as `freeze`, without a call
            return view(copy, kind)
        if isinstance(value, SimArray) and not can_change(value):
            return value if type(value) is kind else value.view(kind)
        if not isinstance(value, np.ndarray):
            raise InvalidType(f"put takes a NumPy array or an array of the simulator, got a {type(value).__name__}.")
        if value.dtype not in dtype_names:
            dtype_named(value.dtype.name)
        return freeze(np.array(value, dtype=value.dtype.newbyteorder("="), order="C", copy=True), kind)

    def get(self, array: SimArray) -> np.ndarray[Any, Any]:
        return np.array(array, copy=True, subok=False)

    def spec(self, array: SimArray) -> Spec:
        return (array.shape, dtype_names[array.dtype], array.placement)

    def cell(self, initial: SimArray) -> "SimCell":
        return SimCell(initial)

    def all_reduce(self, arrays: tuple[SimArray, ...], op: Op) -> tuple[SimArray, ...]:
        total = combine(arrays, op, self._fold) if self._link is None else self._total(arrays, op)
        set_writeable(total, False)
        return tuple(map(total.view, self._local))

    def reduce(self, arrays: tuple[SimArray, ...], op: Op, *, root: int) -> SimArray | None:
        total = combine(arrays, op, self._fold) if self._link is None else self._total(arrays, op)
        set_writeable(total, False)
        return total.view(self._classes[root]) if root in self._classes else None

    def broadcast(self, array: SimArray | None, *, spec: ArraySpec, root: int) -> tuple[SimArray, ...]:
        sent = array if self._link is None else self._link("broadcast", array, _the_one)
        assert sent is not None
        whole = np.array(sent, copy=True, subok=False) if can_change(sent) else sent
        return tuple([freeze(whole, kind) for kind in self._local])

    def all_gather(self, arrays: tuple[SimArray, ...], *, axis: int, sizes: tuple[int, ...]) -> tuple[SimArray, ...]:
        def gather(parts: list[tuple[SimArray, ...]]) -> np.ndarray[Any, Any]:
            return np.concatenate([array.view(np.ndarray) for part in parts for array in part], axis=axis)

        whole = gather([arrays]) if self._link is None else self._link("all_gather", arrays, gather)
        return tuple([freeze(whole, kind) for kind in self._local])

    def exchange(self, note: bytes, *, timeout_s: float | None) -> tuple[bytes, ...]:
        """Returns the message of every worker, in order.  timeout_s has no effect: the simulator has no clock."""
        if self._link is None:
            return (note,)
        notes: tuple[bytes, ...] = self._link("exchange", note, tuple)
        return notes

    def prepare(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return function

    def _total(self, arrays: tuple[SimArray, ...], op: Op) -> np.ndarray[Any, Any]:
        """Combines the arrays of all workers."""
        assert self._link is not None

        def total(parts: list[tuple[SimArray, ...]]) -> np.ndarray[Any, Any]:
            return combine([array for part in parts for array in part], op, self._fold)

        result: np.ndarray[Any, Any] = self._link("all_reduce", arrays, total)
        return result


def _the_one(parts: Sequence[SimArray | None]) -> SimArray:
    return next(part for part in parts if part is not None)


if TYPE_CHECKING:
    _: Backend[SimArray] = SimBackend((), worker=0)
