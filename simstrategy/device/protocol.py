"""The device layer: all that a backend author has to read.

A backend is one group of devices, rank r being `devices[r]`. Its collectives are *group-calls*: they
take the arrays of all local ranks at once, in rank order, and return theirs, so that waiting, matching
and the search for disagreement happen once, above, for every backend. A process of a cluster holds the
ranks in `local_devices`; every group-call is preceded by one `exchange`, which the core makes.

Arrays are opaque to the core: it computes with `xp` alone. MEAN is not here: the core sums and divides
once. A backend need not inherit from anything below.
"""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import FrameType
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np

from simstrategy.device.compilation import Compilation
from simstrategy.device.frontend import Composites, Frontend
from simstrategy.device.namespace import ArrayNamespace

__all__ = [
    "PROTOCOL_VERSION",
    "UNKNOWN",
    "Array",
    "ArraySpec",
    "Autodiff",
    "Backend",
    "Capabilities",
    "Cell",
    "Device",
    "Op",
    "Spec",
]

PROTOCOL_VERSION = 1
"""Changes with every release that a backend written for the one before would not conform to; 1 until there is one."""

Array = Any
"""An array of the backend's own type, on one device."""

UNKNOWN = -1
"""Stands for a size that only the graph will know, while a framework traces."""

Op = Literal["SUM", "MIN", "MAX"]

Spec = tuple[tuple[int, ...], str, str]
"""An `ArraySpec`, or a plain tuple of its form, which is quicker to make: the core asks very often."""


class Device(NamedTuple):
    """One rank of the group."""

    rank: int
    process: int
    """The worker that holds it: 0 for a backend of one process."""
    placement: str
    """The framework's own name of the device; several ranks may share one."""


class ArraySpec(NamedTuple):
    """What is known of an array without looking at its values."""

    shape: tuple[int, ...]
    dtype: str
    """The Array API name: float32, int64, bool, complex64 … and bfloat16."""
    placement: str
    """The `placement` of the device that holds it."""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What differs between backends and the core has to know."""

    dtypes: frozenset[str]
    """The dtypes that `put`, `xp` and SUM accept, bool included where `put` accepts it."""
    carrier: Literal["greenlet", "thread"]
    """How replicas may be run: `thread` where the framework keeps tapes, graphs or scopes per thread."""
    reproducible_bits: bool
    """The same call on the same arrays gives the same bits, always."""
    mutable_arrays: bool
    """A program can write into an array, so no two results may share memory."""
    unified_memory: bool = False
    """One memory for all local devices: `put` of a read-only array of another device copies nothing, and the backend
    is a `UnifiedMemory` as well."""
    spans_processes: bool = False
    """A group may have several processes: each opens the backend for itself and finds the others."""


class Cell(Protocol):
    """The storage of one variable on one device.  Its dtype and shape never change."""

    @property
    def native(self) -> Any:
        """The framework's own variable, what a tape or an optimizer of the framework wants."""
        ...

    def read(self) -> Array:
        """Returns the value; a later write does not change what was read."""
        ...

    def write(self, value: Array) -> None:
        """Replaces the value; `value` is on this cell's device with its shape and dtype."""
        ...


class Autodiff(Protocol):
    """Optional: makes functions of the core differentiable in the framework."""

    def differentiable(
        self, forward: "GroupFunction", backward: "GroupFunction", arrays: tuple[Array, ...]
    ) -> tuple[Array, ...]:
        """Returns forward(arrays); a gradient that arrives at the results is sent through `backward`.

        Runs in the replica's lane. Both functions take and return as many arrays as `arrays` has, see
        concrete values, and may park the lane.
        """
        ...

    def tracks(self, array: Array) -> bool:
        """Tells whether a gradient may have to flow through an array here and now: True where that is not known.

        What is not tracked is all-reduced without `differentiable`, which is quicker.
        """
        ...


class GroupFunction(Protocol):
    def __call__(self, arrays: tuple[Array, ...], /) -> tuple[Array, ...]: ...


class Backend(Protocol):
    """One group of devices and what they can do.  All results are on the devices of their ranks."""

    # Read-only, so that a backend may hold plain or constant attributes.
    @property
    def name(self) -> str: ...
    @property
    def protocol_version(self) -> int: ...
    @property
    def capabilities(self) -> Capabilities: ...
    @property
    def devices(self) -> tuple[Device, ...]:
        """All ranks of the group, in rank order, over all processes."""
        ...

    @property
    def local_devices(self) -> tuple[Device, ...]:
        """The ranks of this process, in rank order."""
        ...

    @property
    def array_types(self) -> tuple[type, ...]:
        """The types of this backend's arrays: what `isinstance` tells from host data."""
        ...

    @property
    def xp(self) -> ArrayNamespace:
        """The array namespace; it computes where its arguments are, and creates on the device of `on`."""
        ...

    @property
    def autodiff(self) -> Autodiff | None: ...
    @property
    def compilation(self) -> Compilation | None: ...
    @property
    def frontend(self) -> Frontend | None: ...
    @property
    def composites(self) -> Composites | None: ...

    def on(self, device: Device) -> AbstractContextManager[None]:
        """Places what is created inside on `device`.

        Called in the thread that calls `Strategy.run`, entered in the lane's: what the framework keeps
        per thread (a graph being traced, a gradient mode) can be picked up here and restored there.
        """
        ...

    def synchronize(self) -> None:
        """Returns when everything that was asked for is done."""
        ...

    def close(self) -> None:
        """Leaves no thread, process, file or port behind.  Closing twice is allowed."""
        ...

    def put(self, value: np.ndarray | Array, device: Device) -> Array:
        """Returns host data, or an array of another local device, on `device`.

        Host data is copied: writing to it later changes nothing here. Keeps shape and dtype. Raises
        `InvalidArgument` for a dtype outside `capabilities.dtypes`.
        """
        ...

    def get(self, array: Array) -> np.ndarray:
        """Returns a fresh host copy, with the same shape and dtype."""
        ...

    def spec(self, array: Array) -> Spec:
        """Returns (shape, dtype, placement), see `ArraySpec`."""
        ...

    def cell(self, initial: Array) -> Cell:
        """Returns storage on the device of `initial`, which is not aliased."""
        ...

    # Group-calls: local ranks' arrays in, local ranks' results out, in rank order.

    def all_reduce(self, arrays: tuple[Array, ...], op: Op) -> tuple[Array, ...]:
        """Combines equal-shaped arrays of all ranks elementwise.  Integers wrap; bool is refused above."""
        ...

    def reduce(self, arrays: tuple[Array, ...], op: Op, *, root: int) -> Array | None:
        """Like `all_reduce`, for rank `root` alone: None where root is not local."""
        ...

    def broadcast(self, array: Array | None, *, spec: ArraySpec, root: int) -> tuple[Array, ...]:
        """Sends rank `root`'s array to all ranks; `array` is None and `spec` tells its form elsewhere."""
        ...

    def all_gather(self, arrays: tuple[Array, ...], *, axis: int, sizes: tuple[int, ...]) -> tuple[Array, ...]:
        """Concatenates the arrays of all ranks along `axis` (not negative), in rank order.

        `sizes` holds every rank's size along the axis, UNKNOWN where only the graph will know; other sizes
        are equal.
        """
        ...

    def exchange(self, note: bytes, *, timeout_s: float | None) -> tuple[bytes, ...]:
        """Sends one small message to every process and returns all, in process order."""
        ...

    # How the framework sees Python.

    def prepare(self, function: Any) -> Any:
        """Returns the replica function as the framework wants it called; itself by default."""
        ...

    def source(self, frame: FrameType) -> tuple[str, int]:
        """Returns the user's file and line for a frame, through code that the framework generated."""
        ...
