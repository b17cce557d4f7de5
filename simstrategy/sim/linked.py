"""One worker's view of a backend that has the devices of all workers: a cluster in one process on any such backend.

The devices, arrays and sums are the backend's. Each group-call waits until every worker has made it, and is then one
group-call of the backend with the arrays of all ranks. The backend itself is opened and closed elsewhere.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar, final

import numpy as np

from simstrategy.device import PROTOCOL_VERSION, Array, ArraySpec, Backend, Device, Op, Spec
from simstrategy.device.terms import Cell
from simstrategy.sim.backend import Link

__all__ = ["LinkedBackend"]

P = TypeVar("P")
"""What one worker contributes."""
T = TypeVar("T")
"""What is made of all contributions."""


@final
class LinkedBackend:
    """The replicas of one worker.

    whole: a backend of one process, with the devices of all workers, equally many each. link: waits for the call of
    every worker, as of `SimBackend`.
    """

    protocol_version = PROTOCOL_VERSION
    compilation = None
    frontend = None
    # The memory of all devices is shared by the workers, and an array of one is on no device of another.
    memory = None

    def __init__(self, whole: Backend, worker: int, workers: int, link: Link) -> None:
        self._whole = whole
        self._link = link
        count = len(whole.devices) // workers
        self._own = slice(worker * count, (worker + 1) * count)
        self.name = whole.name
        self.capabilities = whole.capabilities
        self.array_types = whole.array_types
        self.xp = whole.xp
        self.autodiff = whole.autodiff
        self.forms = whole.forms
        self.composites = whole.composites
        self.devices = tuple([Device(one.rank, one.rank // count, one.placement) for one in whole.devices])
        self.local_devices = self.devices[self._own]

    def all_reduce(self, arrays: tuple[Array, ...], op: Op) -> tuple[Array, ...]:
        return self._together("all_reduce", arrays, lambda parts: self._whole.all_reduce(_joined(parts), op))[self._own]

    def reduce(self, arrays: tuple[Array, ...], op: Op, *, root: int) -> Array | None:
        total = self._together("reduce", arrays, lambda parts: self._whole.reduce(_joined(parts), op, root=root))
        return total if self.devices[root] in self.local_devices else None

    def broadcast(self, array: Array | None, *, spec: ArraySpec, root: int) -> tuple[Array, ...]:
        def send(parts: list[Array | None]) -> tuple[Array, ...]:
            sent = next(part for part in parts if part is not None)
            return self._whole.broadcast(sent, spec=spec, root=root)

        return self._together("broadcast", array, send)[self._own]

    def all_gather(self, arrays: tuple[Array, ...], *, axis: int, sizes: tuple[int, ...]) -> tuple[Array, ...]:
        def gather(parts: list[tuple[Array, ...]]) -> tuple[Array, ...]:
            return self._whole.all_gather(_joined(parts), axis=axis, sizes=sizes)

        return self._together("all_gather", arrays, gather)[self._own]

    def exchange(self, note: bytes, *, timeout_s: float | None) -> tuple[bytes, ...]:
        """Returns the message of every worker, in order.  timeout_s has no effect: nothing is sent."""
        return self._together("exchange", note, tuple)

    def put(self, value: np.ndarray | Array, device: Device) -> Array:
        return self._whole.put(value, self._whole.devices[device.rank])

    def get(self, array: Array) -> np.ndarray:
        return self._whole.get(array)

    def spec(self, array: Array) -> Spec:
        return self._whole.spec(array)

    def cell(self, initial: Array) -> Cell:
        return self._whole.cell(initial)

    def on(self, device: Device) -> AbstractContextManager[None]:
        return self._whole.on(self._whole.devices[device.rank])

    def synchronize(self) -> None:
        self._whole.synchronize()

    def close(self) -> None:
        """Does nothing: the cluster closes the backend when every worker has ended."""

    def prepare(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return self._whole.prepare(function)

    def source(self, frame: FrameType) -> tuple[str, int]:
        return self._whole.source(frame)

    def _together(self, name: str, part: P, combine: Callable[[list[P]], T]) -> T:
        """Returns what a function makes of every worker's part: one object, the same for all workers."""
        result: T = self._link(name, part, combine)
        return result


def _joined(parts: Sequence[tuple[Array, ...]]) -> tuple[Array, ...]:
    return tuple([array for part in parts for array in part])


if TYPE_CHECKING:
    _: type[Backend] = LinkedBackend
