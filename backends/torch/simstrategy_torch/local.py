"""N replicas in one process on the CPU: the backend `torch`.  No processes, no network, no GPUs.

Every total is a left fold in rank order, one rounding to the dtype at each addition. Results of group-calls
are detached and share no memory, with each other or with what went in.
"""

from types import FrameType
from typing import TYPE_CHECKING, Any, final

import torch

from simstrategy.device import PROTOCOL_VERSION, Array, ArraySpec, Backend, Capabilities, Device, Op
from simstrategy.errors import InvalidArgument
from simstrategy_torch.arrays import DTYPES, PLACEMENT, TorchCell, copied, fold, get, put, spec
from simstrategy_torch.autodiff import TorchAutodiff
from simstrategy_torch.namespace import TorchNamespace
from simstrategy_torch.placement import On

__all__ = ["TorchBackend", "open_torch"]

Arrays = tuple[Array, ...]


def open_torch(*, replicas: int | None = None) -> "TorchBackend":
    """Opens `replicas` replicas (default 1) on this process's CPU.  Raises InvalidArgument for less than 1."""
    count = 1 if replicas is None else replicas
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise InvalidArgument(f"The backend 'torch' takes a number of replicas of at least 1, got {replicas!r}.")
    return TorchBackend(tuple([Device(rank, 0, PLACEMENT) for rank in range(count)]))


@final
class TorchBackend:
    """One process's replicas, all on the CPU."""

    __slots__ = ("devices", "local_devices")

    name = "torch"
    protocol_version = PROTOCOL_VERSION
    capabilities = Capabilities(
        dtypes=frozenset(DTYPES), carrier="thread", reproducible_bits=True, mutable_arrays=True, unified_memory=False
    )
    array_types = (torch.Tensor,)
    autodiff = TorchAutodiff()
    xp = TorchNamespace()
    put = staticmethod(put)
    get = staticmethod(get)
    spec = staticmethod(spec)

    def __init__(self, devices: tuple[Device, ...]) -> None:
        self.devices = self.local_devices = devices

    def on(self, device: Device) -> On:
        return On()

    def synchronize(self) -> None:
        """Does nothing: on a CPU, PyTorch never runs ahead."""

    def close(self) -> None:
        """Does nothing: there is nothing to leave behind."""

    def cell(self, initial: Array) -> TorchCell:
        return TorchCell(initial)

    def all_reduce(self, arrays: Arrays, op: Op) -> Arrays:
        return self._spread(fold(arrays, op))

    def reduce(self, arrays: Arrays, op: Op, *, root: int) -> Array:
        return fold(arrays, op)

    def broadcast(self, array: Array | None, *, spec: ArraySpec, root: int) -> Arrays:
        assert array is not None
        return self._spread(copied(array))

    def all_gather(self, arrays: Arrays, *, axis: int, sizes: tuple[int, ...]) -> Arrays:
        return self._spread(torch.cat([array.detach() for array in arrays], axis))

    def exchange(self, note: bytes, *, timeout_s: float | None) -> tuple[bytes, ...]:
        """Returns the note: there is one process, and nobody to wait for."""
        return (note,)

    def prepare(self, function: Any) -> Any:
        return function

    def source(self, frame: FrameType) -> tuple[str, int]:
        return frame.f_code.co_filename, frame.f_lineno

    def _spread(self, own: torch.Tensor) -> Arrays:
        """Returns a tensor that nobody else has and copies of it, one per replica."""
        return (own, *[copied(own) for _ in self.devices[1:]])


if TYPE_CHECKING:
    _: Backend = TorchBackend(())
