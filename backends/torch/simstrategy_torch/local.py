"""N replicas in one process, all on the CPU or all on one GPU: the backend `torch`.  No other process, no network.

Every total is a left fold in rank order, one rounding to the dtype at each addition. Results of group-calls
are detached and share no memory, with each other or with what went in.
"""

from types import FrameType
from typing import TYPE_CHECKING, Any, final

import torch

from simstrategy.device import PROTOCOL_VERSION, ArraySpec, Backend, Capabilities, Device, Op
from simstrategy.errors import InvalidArgument
from simstrategy.short_repr import short_repr
from simstrategy_torch.arrays import DTYPES, TorchCell, copied, fold, get, put, spec
from simstrategy_torch.autodiff import TorchAutodiff
from simstrategy_torch.namespace import TorchNamespace
from simstrategy_torch.placement import On, finished, placement_named

__all__ = ["TorchBackend", "counted", "open_torch"]

Arrays = tuple[torch.Tensor, ...]


def open_torch(*, replicas: int | None = None, device: str = "cpu") -> "TorchBackend":
    """Opens `replicas` replicas (default 1) in this process, all on `device`: "cpu", or a GPU such as "cuda:0".

    Raises InvalidArgument for less than 1 and for what names no device, BackendUnavailable for a GPU that is not here.
    """
    return TorchBackend(counted("torch", replicas), placement_named(device))


def counted(name: str, replicas: int | None) -> int:
    """Returns a number of replicas, by default 1.  Raises InvalidArgument for any other value."""
    count = 1 if replicas is None else replicas
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise InvalidArgument(
            f"The backend {name!r} takes a number of replicas of at least 1, got {short_repr(replicas)}."
        )
    return count


@final
class TorchBackend:
    """One process's replicas, all on one device."""

    __slots__ = ("_placement", "devices", "local_devices", "xp")

    name = "torch"
    protocol_version = PROTOCOL_VERSION
    capabilities = Capabilities(
        dtypes=frozenset(DTYPES),
        executor="thread",
        reproducible_bits=True,
        mutable_arrays=True,
        combines_on_one=True,
    )
    array_types = (torch.Tensor,)
    autodiff = TorchAutodiff()
    compilation = None
    frontend = None
    composites = None
    memory = None
    forms = None
    put = staticmethod(put)
    get = staticmethod(get)
    spec = staticmethod(spec)

    def __init__(self, replicas: int, placement: str) -> None:
        self._placement = placement
        self.devices = self.local_devices = tuple([Device(rank, 0, placement) for rank in range(replicas)])
        self.xp = TorchNamespace(placement)

    def on(self, device: Device) -> On:
        return On(self._placement)

    def synchronize(self) -> None:
        """Waits for the device; on a CPU, PyTorch never runs ahead."""
        finished(self._placement)

    def close(self) -> None:
        """Does nothing: there is nothing to leave behind."""

    def cell(self, initial: torch.Tensor) -> TorchCell:
        return TorchCell(initial)

    def all_reduce(self, arrays: Arrays, op: Op) -> Arrays:
        return self._spread(fold(arrays, op))

    def reduce(self, arrays: Arrays, op: Op, *, root: int) -> torch.Tensor:
        return fold(arrays, op)

    def broadcast(self, array: torch.Tensor | None, *, spec: ArraySpec, root: int) -> Arrays:
        assert array is not None
        return self._spread(copied(array))

    def all_gather(self, arrays: Arrays, *, axis: int, sizes: tuple[int, ...]) -> Arrays:
        return self._spread(torch.cat([array.detach() for array in arrays], axis))

    def exchange(self, note: bytes, *, timeout_s: float | None) -> tuple[bytes, ...]:
        """Returns the note: there is one process, so nothing is sent."""
        return (note,)

    def prepare(self, function: Any) -> Any:
        return function

    def source(self, frame: FrameType) -> tuple[str, int]:
        return frame.f_code.co_filename, frame.f_lineno

    def _spread(self, own: torch.Tensor) -> Arrays:
        """Returns a tensor that has no other reference, and copies of it, one per replica."""
        return (own, *[copied(own) for _ in self.devices[1:]])


if TYPE_CHECKING:
    _: Backend[torch.Tensor] = TorchBackend(1, "cpu")
