"""Replicas in several processes over gloo: the backend `gloo`.  It opens no connections: see `rendezvous.py`.

What travels is bytes, whatever the dtype, and nothing that arrives is ever executed. A total is gathered
and folded in rank order, as on the simulator; sums of large arrays are gloo's own all-reduce, whose order
of additions depends on the shape and the number of processes alone.
"""

from collections.abc import Callable
from datetime import timedelta
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, final

import torch
from torch.distributed import distributed_c10d as _typed

from simstrategy.device import PROTOCOL_VERSION, Array, ArraySpec, Backend, Capabilities, Device, Op
from simstrategy.errors import BackendUnavailable, PeerFailed
from simstrategy_torch.arrays import DTYPES, PLACEMENT, TorchCell, copied, fold, get, named, put, spec
from simstrategy_torch.autodiff import TorchAutodiff
from simstrategy_torch.namespace import TorchNamespace
from simstrategy_torch.placement import On

__all__ = ["GlooBackend", "Group"]

distributed: Any = _typed  # for PyTorch's types leave out most of what is used here

Arrays = tuple[Array, ...]
Group = Any
"""A `ProcessGroupGloo`, or a `ProcessGroup` with gloo inside: they share their methods and no class."""

_FOLDED_BYTES_MAX: Final = 512 * 1024
"""Of all ranks together: below, one gather and a fold take a third of the time of gloo's all-reduce."""
_NOT_SUMMED: Final = frozenset((torch.bool, torch.int16))
"""gloo's all-reduce knows no int16."""
_LENGTH_BYTES: Final = 8
_NOTE_BYTES: Final = 2048 - _LENGTH_BYTES
"""Of a note that travel with its length; the rest of longer notes follows in a second round."""


@final
class GlooBackend:
    """This process's replicas, equally many in each, and its connections to the others.

    rank, size: of the process and of the processes. replicas: of each process. group: used for nothing
    else. close_group: called with it, once, when the backend lets go of it.
    """

    __slots__ = ("_close_group", "_group", "_rank", "_replicas", "_size", "_timeout_s", "devices", "local_devices")

    name = "gloo"
    protocol_version = PROTOCOL_VERSION
    capabilities = Capabilities(
        dtypes=frozenset(DTYPES),
        carrier="thread",
        reproducible_bits=True,
        mutable_arrays=True,
        unified_memory=False,
        spans_processes=True,
    )
    array_types = (torch.Tensor,)
    autodiff = TorchAutodiff()
    xp = TorchNamespace()
    put = staticmethod(put)
    get = staticmethod(get)
    spec = staticmethod(spec)

    def __init__(
        self,
        group: Group,
        *,
        rank: int,
        size: int,
        timeout_s: float,
        close_group: Callable[[Group], None],
        replicas: int = 1,
    ) -> None:
        self._group: Group | None = group
        self._close_group = close_group
        self._rank = rank
        self._size = size
        self._timeout_s = timeout_s
        self._replicas = replicas
        self.devices = tuple([Device(one, one // replicas, PLACEMENT) for one in range(size * replicas)])
        self.local_devices = self.devices[rank * replicas : (rank + 1) * replicas]

    def on(self, device: Device) -> On:
        return On()

    def synchronize(self) -> None:
        """Does nothing: every call waits for its end."""

    def close(self) -> None:
        """Ends the connections, and with them gloo's threads.  The other processes need not close."""
        group, self._group = self._group, None
        if group is not None:
            self._close_group(group)

    def cell(self, initial: Array) -> TorchCell:
        return TorchCell(initial)

    def all_reduce(self, arrays: Arrays, op: Op) -> Arrays:
        return self._to_each(self._total("all_reduce", arrays, op))

    def reduce(self, arrays: Arrays, op: Op, *, root: int) -> Array | None:
        total = self._total("reduce", arrays, op)
        return total if root // self._replicas == self._rank else None

    def broadcast(self, array: Array | None, *, spec: ArraySpec, root: int) -> Arrays:
        sent = torch.empty(spec.shape, dtype=named(spec.dtype), device=PLACEMENT) if array is None else copied(array)
        options = distributed.BroadcastOptions()
        options.rootRank = root // self._replicas
        if sent.numel():
            self._call("broadcast", lambda: self._open.broadcast([_bytes(sent)], options))
        return self._to_each(sent)

    def all_gather(self, arrays: Arrays, *, axis: int, sizes: tuple[int, ...]) -> Arrays:
        largest = [*arrays[0].shape]
        largest[axis] = max(sizes)
        padded = torch.zeros((len(arrays), *largest), dtype=arrays[0].dtype, device=PLACEMENT)
        for row, own in zip(padded, arrays, strict=True):
            row.narrow(axis, 0, own.shape[axis]).copy_(own.detach())
        parts = self._gather("all_gather", padded)
        whole = [part.narrow(axis, 0, size) for part, size in zip(parts, sizes, strict=True)]
        return self._to_each(torch.cat(whole, axis))

    def exchange(self, note: bytes, *, timeout_s: float | None) -> tuple[bytes, ...]:
        """Returns all processes' notes.  Raises PeerFailed, at once where a process is gone."""
        first, rest = note[:_NOTE_BYTES], note[_NOTE_BYTES:]
        heads = self._exchange(len(note).to_bytes(_LENGTH_BYTES) + first, _LENGTH_BYTES + _NOTE_BYTES, timeout_s)
        lengths = [int.from_bytes(head[:_LENGTH_BYTES]) for head in heads]
        notes = [head[_LENGTH_BYTES:] for head in heads]
        if max(lengths) > _NOTE_BYTES:
            rests = self._exchange(rest, max(lengths) - _NOTE_BYTES, timeout_s)
            notes = [head + tail for head, tail in zip(notes, rests, strict=True)]
        return tuple([one[:length] for one, length in zip(notes, lengths, strict=True)])

    def prepare(self, function: Any) -> Any:
        return function

    def source(self, frame: FrameType) -> tuple[str, int]:
        return frame.f_code.co_filename, frame.f_lineno

    def _exchange(self, data: bytes, room: int, timeout_s: float | None) -> list[bytes]:
        sent = torch.frombuffer(bytearray(data.ljust(room, b"\0")), dtype=torch.uint8).reshape(1, room)
        return [row.numpy().tobytes() for row in self._gather("exchange", sent, timeout_s)]

    def _to_each(self, array: torch.Tensor) -> Arrays:
        """Returns the array for each local replica, in memory of its own."""
        return (array, *[array.clone() for _ in range(self._replicas - 1)])

    def _total(self, call: str, arrays: Arrays, op: Op) -> torch.Tensor:
        first = arrays[0]
        large = first.nbytes * len(self.devices) > _FOLDED_BYTES_MAX
        if not large or op != "SUM" or first.dtype in _NOT_SUMMED:
            return fold(self._gather(call, torch.stack([array.detach() for array in arrays])), op)
        total = fold([array.detach() for array in arrays], op) if len(arrays) > 1 else copied(first)
        self._call(call, lambda: self._open.allreduce([total], distributed.AllreduceOptions()))
        return total

    def _gather(self, call: str, rows: torch.Tensor, timeout_s: float | None = None) -> list[torch.Tensor]:
        """Returns the rows of all processes, in their order, all in one new piece of memory."""
        received = torch.empty((self._size, *rows.shape), dtype=rows.dtype, device=PLACEMENT)
        if not received.numel():
            return list(received.flatten(0, 1).unbind())  # of nothing there are no bytes to send
        blocks = list(_bytes(received).reshape(self._size, -1).unbind())
        options = distributed.AllgatherOptions()
        if timeout_s is not None:
            options.timeout = timedelta(seconds=timeout_s)
        self._call(call, lambda: self._open.allgather([blocks], [_bytes(rows)], options), timeout_s)
        return list(received.flatten(0, 1).unbind())

    @property
    def _open(self) -> Group:
        # Asked for in one expression and kept by no frame, or a traceback would keep the connections open.
        if self._group is None:
            raise BackendUnavailable("This backend 'gloo' was closed. Open another one in every process.")
        return self._group

    def _call(self, call: str, start: Callable[[], Any], timeout_s: float | None = None) -> None:
        try:
            start().wait()
        except BackendUnavailable:
            raise
        except RuntimeError as error:  # gloo has no class of its own for what the network tells
            patience_s = self._timeout_s if timeout_s is None else timeout_s
            raise PeerFailed(
                f"Backend 'gloo', {call} in worker {self._rank} of {self._size}: another process ended, was cut off, "
                f"or did not come within {patience_s:g} s. PyTorch says: {str(error).strip().splitlines()[0]} Read the "
                f"other processes' output and start all of them anew; where they only need longer, open the backend "
                f"with a larger timeout_s."
            ) from error


def _bytes(array: torch.Tensor) -> torch.Tensor:
    return array.contiguous().reshape(-1).view(torch.uint8)


if TYPE_CHECKING:
    _: Backend = GlooBackend(None, rank=0, size=1, timeout_s=0.0, close_group=lambda group: None)
