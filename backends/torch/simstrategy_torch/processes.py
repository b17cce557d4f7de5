"""Replicas in several processes: the backends `gloo` and `nccl`.  It opens no connections: see `rendezvous.py`.

What travels is bytes, whatever the dtype, and nothing that arrives is ever executed. A total is gathered
and folded in rank order, as on the simulator; sums of large arrays are the process group's own all-reduce,
whose order of additions depends on the shape and the number of processes alone. Notes go another way
(`mesh.py`), which also tells who is missing when a call fails.
"""

from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

import torch
from torch.distributed import distributed_c10d as _typed

from simstrategy.device import PROTOCOL_VERSION, Array, ArraySpec, Backend, Capabilities, Device, Op
from simstrategy.errors import BackendUnavailable, PeerFailed
from simstrategy_torch.arrays import DTYPES, TorchCell, copied, fold, get, named, put, spec
from simstrategy_torch.autodiff import TorchAutodiff
from simstrategy_torch.mesh import CLOSED, Mesh
from simstrategy_torch.namespace import TorchNamespace
from simstrategy_torch.placement import On, finished

__all__ = ["FOLDED_BYTES_MAX", "Group", "ProcessBackend", "Transport"]

distributed: Any = _typed  # for PyTorch's types leave out most of what is used here

Arrays = tuple[Array, ...]
Group = Any
"""A `ProcessGroupGloo`, a `ProcessGroupNCCL`, or a `ProcessGroup` with one inside: they share methods and no class."""

FOLDED_BYTES_MAX: Final = 512 * 1024
"""Of all ranks together: below, one gather and a fold take a third of the time of gloo's all-reduce."""


class Transport(NamedTuple):
    """What tensors travel by."""

    name: str
    """Of the backend."""
    not_summed: frozenset[torch.dtype]
    """What its all-reduce does not know: gathered and folded here instead, as everything small is."""
    placement: Callable[[int], str]
    """Takes the process's number on its machine; returns the device of its replicas.  Raises BackendUnavailable."""
    connect: Callable[[Any, int, int, str, float, str], Group]
    """Takes store, rank, size, the meeting place's host, seconds and placement; returns connections to all."""
    wait: Callable[[Callable[[], Any], Mesh, float], None]
    """Takes what starts a call, the mesh, to look for who is gone, and seconds; returns at its end.

    Raises RuntimeError. No frame may keep the call's work then: with the traceback it would keep the connections.
    """
    shut: Callable[[Group], None]
    """Ends the connections, those of a call that hangs as well."""


@final
class ProcessBackend:
    """This process's replicas, equally many in each, and its connections to the others.

    group, mesh: used for nothing else, and closed with the backend. rank, size: of the process and of the
    processes. replicas: of each process, all on `placement`. shut: ends the group, once. folded_bytes_max: of all
    ranks together, up to which a sum is gathered and folded; the same in all processes.
    """

    __slots__ = (
        "_folded_bytes_max",
        "_group",
        "_mesh",
        "_placement",
        "_rank",
        "_replicas",
        "_shut",
        "_size",
        "_timeout_s",
        "_transport",
        "capabilities",
        "devices",
        "local_devices",
        "name",
        "xp",
    )

    protocol_version = PROTOCOL_VERSION
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

    def __init__(
        self,
        transport: Transport,
        group: Group,
        mesh: Mesh,
        *,
        rank: int,
        size: int,
        placement: str,
        timeout_s: float,
        shut: Callable[[Group], None],
        replicas: int = 1,
        folded_bytes_max: int = FOLDED_BYTES_MAX,
    ) -> None:
        self.name = transport.name
        self._transport = transport
        self._group: Group | None = group
        self._mesh = mesh
        self._shut = shut
        self._rank = rank
        self._size = size
        self._placement = placement
        self._timeout_s = timeout_s
        self._replicas = replicas
        self._folded_bytes_max = folded_bytes_max
        self.xp = TorchNamespace(placement)
        self.capabilities = Capabilities(
            dtypes=frozenset(DTYPES),
            executor="thread",
            reproducible_bits=True,
            mutable_arrays=True,
            spans_processes=True,
        )
        self.devices = tuple([Device(one, one // replicas, placement) for one in range(size * replicas)])
        self.local_devices = self.devices[rank * replicas : (rank + 1) * replicas]

    def on(self, device: Device) -> On:
        return On(self._placement)

    def synchronize(self) -> None:
        """Waits for the device; group-calls wait for their end by themselves."""
        finished(self._placement)

    def close(self) -> None:
        """Ends the connections, and with them the transport's threads.  The other processes need not close."""
        self._mesh.close()
        self._drop()

    def cell(self, initial: Array) -> TorchCell:
        return TorchCell(initial)

    def all_reduce(self, arrays: Arrays, op: Op) -> Arrays:
        return self._to_each(self._total("all_reduce", arrays, op))

    def reduce(self, arrays: Arrays, op: Op, *, root: int) -> Array | None:
        total = self._total("reduce", arrays, op)
        return total if root // self._replicas == self._rank else None

    def broadcast(self, array: Array | None, *, spec: ArraySpec, root: int) -> Arrays:
        sent = (
            torch.empty(spec.shape, dtype=named(spec.dtype), device=self._placement) if array is None else copied(array)
        )
        options = distributed.BroadcastOptions()
        options.rootRank = root // self._replicas
        if sent.numel():
            self._call("broadcast", lambda: self._open.broadcast([_bytes(sent)], options))
        return self._to_each(sent)

    def all_gather(self, arrays: Arrays, *, axis: int, sizes: tuple[int, ...]) -> Arrays:
        largest = [*arrays[0].shape]
        largest[axis] = max(sizes)
        padded = torch.zeros((len(arrays), *largest), dtype=arrays[0].dtype, device=self._placement)
        for row, own in zip(padded, arrays, strict=True):
            row.narrow(axis, 0, own.shape[axis]).copy_(own.detach())
        parts = self._gather("all_gather", padded)
        whole = [part.narrow(axis, 0, size) for part, size in zip(parts, sizes, strict=True)]
        return self._to_each(torch.cat(whole, axis))

    def exchange(self, note: bytes, *, timeout_s: float | None) -> tuple[bytes, ...]:
        """Returns all processes' notes.  Raises PeerFailed, at once where a process is gone."""
        try:
            return self._mesh.exchange(note, self._timeout_s if timeout_s is None else timeout_s)
        except PeerFailed as error:
            if self._group is None and self._mesh.failure == CLOSED:
                raise self._closed() from None
            self._drop()
            raise self._failed("exchange", str(error)) from None
        except BaseException:
            self._drop()
            raise

    def prepare(self, function: Any) -> Any:
        return function

    def source(self, frame: FrameType) -> tuple[str, int]:
        return frame.f_code.co_filename, frame.f_lineno

    def _to_each(self, array: torch.Tensor) -> Arrays:
        """Returns the array for each local replica, in memory of its own."""
        return (array, *[array.clone() for _ in range(self._replicas - 1)])

    def _total(self, call: str, arrays: Arrays, op: Op) -> torch.Tensor:
        first = arrays[0]
        large = first.nbytes * len(self.devices) > self._folded_bytes_max
        if not large or op != "SUM" or first.dtype in self._transport.not_summed:
            return fold(self._gather(call, torch.stack([array.detach() for array in arrays])), op)
        total = fold([array.detach() for array in arrays], op) if len(arrays) > 1 else copied(first)
        self._call(call, lambda: self._open.allreduce([total], distributed.AllreduceOptions()))
        return total

    def _gather(self, call: str, rows: torch.Tensor) -> list[torch.Tensor]:
        """Returns the rows of all processes, in their order, all in one new piece of memory."""
        received = torch.empty((self._size, *rows.shape), dtype=rows.dtype, device=self._placement)
        if not received.numel():
            return list(received.flatten(0, 1).unbind())  # of nothing there are no bytes to send
        blocks = list(_bytes(received).reshape(self._size, -1).unbind())
        self._call(call, lambda: self._open.allgather([blocks], [_bytes(rows)], distributed.AllgatherOptions()))
        return list(received.flatten(0, 1).unbind())

    @property
    def _open(self) -> Group:
        # Asked for in one expression and kept by no frame, or a traceback would keep the connections open.
        if self._group is None:
            raise self._closed()
        return self._group

    def _closed(self) -> BackendUnavailable:
        return BackendUnavailable(f"This backend {self.name!r} was closed. Open another one in every process.")

    def _drop(self) -> None:
        """Ends the group: whoever waits in a call of it hears at once that this process goes no further."""
        group, self._group = self._group, None
        if group is not None:
            self._shut(group)

    def _call(self, call: str, start: Callable[[], Any]) -> None:
        if self._mesh.failure is not None and self._mesh.failure != CLOSED:
            raise self._failed(call, self._mesh.failure)
        try:
            self._transport.wait(start, self._mesh, self._timeout_s)
        except BackendUnavailable:
            raise
        except RuntimeError as error:  # PyTorch has no class of its own for what the network tells
            told = (str(error).strip().splitlines() or ["nothing"])[0]
            why = self._mesh.roll_call(f"{call} ended with: {told}")
            self._drop()
            raise self._failed(call, why) from error
        except BaseException as error:
            self._mesh.fail(f"worker {self._rank} was interrupted in {call} by {type(error).__name__}", (self._rank,))
            self._drop()
            raise

    def _failed(self, call: str, why: str) -> PeerFailed:
        return PeerFailed(
            f"Backend {self.name!r}, {call} in worker {self._rank} of {self._size}: {why}. Read the other processes' "
            f"output and start all of them anew; where they only need longer, open the backend with a larger timeout_s."
        )


def _bytes(array: torch.Tensor) -> torch.Tensor:
    return array.contiguous().reshape(-1).view(torch.uint8)


if TYPE_CHECKING:
    _: type[Backend] = ProcessBackend
