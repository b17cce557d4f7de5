"""XLA devices as one `Backend`.  It opens nothing, makes no devices and finds no other process."""

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager
from operator import attrgetter
from types import FrameType
from typing import TYPE_CHECKING, Any, final

import jax
import numpy as np

from simstrategy.device import PROTOCOL_VERSION, ArraySpec, Backend, Capabilities, Compilation, Device, Op, Spec
from simstrategy.errors import InvalidType
from simstrategy_xla.autodiff import XlaAutodiff
from simstrategy_xla.axis_names import without_axes
from simstrategy_xla.cells import XlaCell
from simstrategy_xla.collectives import Collectives
from simstrategy_xla.compilation import XlaCompilation
from simstrategy_xla.namespace import XlaNamespace, dtypes_here, require_values
from simstrategy_xla.process_group import NAME, ProcessGroup
from simstrategy_xla.ranks import ranks_on
from simstrategy_xla.reference import InterpretedCompilation
from simstrategy_xla.topology import ExaminedCompilation, Topology

__all__ = ["XlaBackend"]

Arrays = tuple[jax.Array, ...]


@final
class XlaBackend:
    """XLA devices of one process, or of a group of processes; rank r computes on `xla_devices[r]`."""

    __slots__ = (
        "_collectives",
        "_placements",
        "_processes",
        "_xla_devices",
        "capabilities",
        "compilation",
        "devices",
        "forms",
        "local_devices",
        "name",
        "xp",
    )

    protocol_version = PROTOCOL_VERSION
    array_types = (jax.Array,)
    autodiff = XlaAutodiff()
    frontend = None
    composites = None
    memory = None

    def __init__(self, xla_devices: tuple[jax.Device, ...], processes: ProcessGroup | None = None) -> None:
        dtypes = dtypes_here()
        is_cpu = xla_devices[0].platform == "cpu"
        self.name = "xla" if processes is None else NAME
        self.capabilities = Capabilities(
            dtypes=frozenset(dtypes),
            executor="thread",
            # Measured there alone: GPUs may add in another order each time.
            reproducible_bits=is_cpu,
            mutable_arrays=False,
            spans_processes=processes is not None,
        )
        own = 0 if processes is None else processes.rank
        places = [0 if processes is None else one.process_index for one in xla_devices]
        self.devices = tuple(
            [Device(rank, place, str(one)) for rank, (place, one) in enumerate(zip(places, xla_devices, strict=True))]
        )
        self.local_devices = tuple([device for device in self.devices if device.process == own])
        local = tuple([xla_devices[device.rank] for device in self.local_devices])
        self.xp = XlaNamespace(local, dtypes)
        self._processes = processes
        self._xla_devices = xla_devices
        self._placements = {one: str(one) for one in xla_devices}
        # Two programs at once can starve each other of XLA's CPU threads, and XLA then ends the process.
        waits: Any = jax.block_until_ready if is_cpu else _at_once
        ranks = ranks_on(xla_devices, waits)
        self._collectives = Collectives(ranks, processes)
        self.forms = XlaForms(self.spec)
        # Each process decides separately whether a step runs as tasks, so several processes could disagree.
        self.compilation: Compilation[jax.Array] | None = (
            XlaCompilation(ranks, self.capabilities, dtypes) if processes is None else None
        )

    def examine_for(self, topology: Topology) -> None:
        """Compiles every program for a topology too, from now on, and keeps what is found in `compilation.examined`."""
        if isinstance(self.compilation, XlaCompilation):
            dtypes = self.xp.dtypes
            self.compilation = ExaminedCompilation(self.compilation, topology, self.capabilities, dtypes)

    def interpret(self) -> None:
        """Runs every compiled step by StableHLO's reference interpreter, from now on."""
        if isinstance(self.compilation, XlaCompilation):
            self.compilation = InterpretedCompilation(self.compilation, self._xla_devices)

    def on(self, device: Device) -> AbstractContextManager[None]:
        place: AbstractContextManager[None] = jax.default_device(self._xla_devices[device.rank])
        return place

    def synchronize(self) -> None:
        for array in jax.live_arrays(self._xla_devices[0].platform):  # type: ignore[no-untyped-call]
            array.block_until_ready()

    def close(self) -> None:
        """Ends the control channel.  JAX keeps its devices, and its group of processes, until the process ends."""
        if self._processes is not None:
            self._processes.close()
        if isinstance(self.compilation, InterpretedCompilation):
            self.compilation.close()

    def put(self, value: np.ndarray | jax.Array, device: Device) -> jax.Array:
        target = self._xla_devices[device.rank]
        if isinstance(value, jax.Array):
            moved: jax.Array = jax.device_put(value, target)
            return moved
        if not isinstance(value, np.ndarray):
            raise InvalidType(f"put takes a NumPy array or a jax.Array, got a {type(value).__name__}.")
        # A copy of our own: JAX reads host memory later, or for ever.
        copied: jax.Array = jax.device_put(np.array(value, self.xp.named(value.dtype), order="C", copy=True), target)
        return copied

    def get(self, array: jax.Array) -> np.ndarray:
        require_values((array,), "reading a value")
        return np.array(array)

    def spec(self, array: jax.Array) -> ArraySpec:
        # Asked for very often: NumPy makes the name of a dtype anew each time, and JAX that of a device.
        placement = None if isinstance(array, jax.core.Tracer) else self._placements.get(array.device)
        return ArraySpec(array.shape, _name(array.dtype), placement or str(self.xp.device_of(array)))

    def cell(self, initial: jax.Array) -> "XlaCell":
        return XlaCell(initial)

    def all_reduce(self, arrays: Arrays, op: Op) -> Arrays:
        self._begin("all_reduce")
        return self._collectives.total(arrays, op)

    def reduce(self, arrays: Arrays, op: Op, *, root: int) -> jax.Array | None:
        self._begin("reduce")
        totals = self._collectives.total(arrays, op)
        first = self.local_devices[0].rank
        return totals[root - first] if first <= root < first + len(totals) else None

    def broadcast(self, array: jax.Array | None, *, spec: Spec, root: int) -> Arrays:
        self._begin("broadcast")
        shape, dtype, _ = spec
        empty = np.zeros(shape, self.xp.named(dtype))
        sent: list[Any] = [
            array if device.rank == root else jax.device_put(empty, self._xla_devices[device.rank])
            for device in self.local_devices
        ]
        return self._collectives.chosen(tuple(sent), root)

    def all_gather(self, arrays: Arrays, *, axis: int, sizes: tuple[int, ...]) -> Arrays:
        self._begin("all_gather")
        return self._collectives.joined(arrays, axis, sizes)

    def exchange(self, note: bytes, *, timeout_s: float | None) -> tuple[bytes, ...]:
        """Returns the notes of all processes, in rank order; with one process, the note.

        timeout_s: seconds; None takes the backend's own limit. Raises PeerFailed, at once where a process has ended.
        """
        return (note,) if self._processes is None else self._processes.exchange(note, timeout_s)

    def prepare(self, function: Any) -> Any:
        return without_axes(function)

    def source(self, frame: FrameType) -> tuple[str, int]:
        return frame.f_code.co_filename, frame.f_lineno

    def _begin(self, call: str) -> None:
        if self._processes is not None:
            self._processes.begin(call)


_quick_form = attrgetter("shape", "dtype", "sharding")


@final
class XlaForms:
    """Compares arrays by attributes that JAX returns in a fraction of the time of `spec`."""

    __slots__ = ("_spec",)

    def __init__(self, spec: Callable[[jax.Array], ArraySpec]) -> None:
        self._spec = spec

    def form(self, array: jax.Array) -> object:
        try:
            return _quick_form(array)
        except AttributeError:  # a tracer is on no device
            return self._spec(array)


@functools.cache
def _name(dtype: np.dtype[Any]) -> str:
    return dtype.name


def _at_once(outputs: Any) -> None:
    """Waits for nothing: the device does one after the other."""


if TYPE_CHECKING:
    _: Backend[jax.Array] = XlaBackend(())
