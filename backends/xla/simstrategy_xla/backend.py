"""XLA devices of one process as one `Backend`.  It opens nothing and makes no devices."""

from contextlib import AbstractContextManager
from types import FrameType
from typing import TYPE_CHECKING, Any, final

import jax
import numpy as np

from simstrategy.device import PROTOCOL_VERSION, Array, ArraySpec, Backend, Capabilities, Compilation, Device, Op
from simstrategy.errors import InvalidType
from simstrategy_xla.autodiff import XlaAutodiff
from simstrategy_xla.collectives import Collectives
from simstrategy_xla.compilation import XlaCompilation
from simstrategy_xla.namespace import XlaNamespace, committed, dtypes_here, require_values
from simstrategy_xla.topology import ExaminedCompilation, Topology

__all__ = ["XlaBackend"]

Arrays = tuple[Array, ...]


@final
class XlaBackend:
    """One process's XLA devices; rank r computes on `xla_devices[r]`."""

    __slots__ = ("_collectives", "_xla_devices", "capabilities", "compilation", "devices", "local_devices", "xp")

    name = "xla"
    protocol_version = PROTOCOL_VERSION
    array_types = (jax.Array,)
    autodiff = XlaAutodiff()
    frontend = None
    composites = None

    def __init__(self, xla_devices: tuple[jax.Device, ...]) -> None:
        dtypes = dtypes_here()
        self.capabilities = Capabilities(
            dtypes=frozenset(dtypes),
            carrier="thread",
            # Measured there alone: GPUs may add in another order each time.
            reproducible_bits=xla_devices[0].platform == "cpu",
            mutable_arrays=False,
        )
        self.devices = self.local_devices = tuple([Device(rank, 0, str(one)) for rank, one in enumerate(xla_devices)])
        self.xp = XlaNamespace(xla_devices, dtypes)
        self._xla_devices = xla_devices
        self._collectives = Collectives(xla_devices)
        waits = xla_devices[0].platform == "cpu"
        self.compilation: Compilation = XlaCompilation(xla_devices, self.capabilities, dtypes, waits=waits)

    def examine_for(self, topology: Topology) -> None:
        """Compiles every program for a topology too, from now on, and keeps what is found in `compilation.examined`."""
        if isinstance(self.compilation, XlaCompilation):
            dtypes = self.xp.dtypes
            self.compilation = ExaminedCompilation(self.compilation, topology, self.capabilities, dtypes)

    def on(self, device: Device) -> AbstractContextManager[None]:
        place: AbstractContextManager[None] = jax.default_device(self._xla_devices[device.rank])
        return place

    def synchronize(self) -> None:
        for array in jax.live_arrays(self._xla_devices[0].platform):  # type: ignore[no-untyped-call]
            array.block_until_ready()

    def close(self) -> None:
        """Does nothing: JAX keeps its devices until the process ends."""

    def put(self, value: np.ndarray | Array, device: Device) -> Array:
        target = self._xla_devices[device.rank]
        if isinstance(value, jax.Array):
            return jax.device_put(value, target)
        if not isinstance(value, np.ndarray):
            raise InvalidType(f"put takes a NumPy array or a jax.Array, got a {type(value).__name__}.")
        # A copy of our own: JAX reads host memory later, or for ever.
        return jax.device_put(np.array(value, self.xp.named(value.dtype), order="C", copy=True), target)

    def get(self, array: Array) -> np.ndarray:
        require_values((array,), "reading a value")
        return np.array(array)

    def spec(self, array: Array) -> ArraySpec:
        return ArraySpec(array.shape, array.dtype.name, str(self.xp.device_of(array)))

    def cell(self, initial: Array) -> "XlaCell":
        return XlaCell(initial)

    def all_reduce(self, arrays: Arrays, op: Op) -> Arrays:
        return self._collectives.total(arrays, op)

    def reduce(self, arrays: Arrays, op: Op, *, root: int) -> Array:
        return self._collectives.total(arrays, op)[root]

    def broadcast(self, array: Array | None, *, spec: ArraySpec, root: int) -> Arrays:
        return tuple([jax.device_put(array, device) for device in self._xla_devices])

    def all_gather(self, arrays: Arrays, *, axis: int, sizes: tuple[int, ...]) -> Arrays:
        return self._collectives.joined(arrays, axis, sizes)

    def exchange(self, note: bytes, *, timeout_s: float | None) -> tuple[bytes, ...]:
        """Returns the note: there is one process, and nobody to wait for."""
        return (note,)

    def prepare(self, function: Any) -> Any:
        return function

    def source(self, frame: FrameType) -> tuple[str, int]:
        return frame.f_code.co_filename, frame.f_lineno


@final
class XlaCell:
    """A variable's storage.  `native` is its present value, a jax.Array: what `jax.grad` and optimizers take."""

    __slots__ = ("native",)

    def __init__(self, initial: Array) -> None:
        self.write(initial)

    def read(self) -> Array:
        return self.native

    def write(self, value: Array) -> None:
        require_values((value,), "writing a variable")
        self.native: Array = committed(value)


if TYPE_CHECKING:
    _: Backend = XlaBackend(())
