"""Replicas in several processes: the backends `gloo` and `nccl`.  It opens no connections: see `rendezvous.py`.

Arrays are sent as bytes, whatever the dtype, and nothing that arrives is executed. A total is gathered and
folded in rank order, as on the simulator; the process group's all-reduce makes sums of large arrays, in an order
of additions that depends on the shape and the number of processes alone. Notes and faults go through the
control channel (`simstrategy.peers`), which finds the missing ranks when a call fails.
"""

from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

import torch
from torch.distributed import distributed_c10d as _typed

from simstrategy.device import PROTOCOL_VERSION, ArraySpec, Backend, Capabilities, Device, Op
from simstrategy.errors import BackendUnavailable
from simstrategy.peers import ControlChannel
from simstrategy_torch.arrays import DTYPES, TorchCell, copied, fold, get, named, put, spec
from simstrategy_torch.autodiff import TorchAutodiff
from simstrategy_torch.namespace import TorchNamespace
from simstrategy_torch.placement import On, finished

__all__ = ["FOLDED_BYTES_MAX", "Group", "ProcessBackend", "Transport"]

distributed: Any = _typed  # for PyTorch's types leave out most of what is used here

Arrays = tuple[torch.Tensor, ...]
Group = Any
"""A `ProcessGroupGloo`, a `ProcessGroupNCCL`, or a `ProcessGroup` with one inside: they share methods and no class."""

FOLDED_BYTES_MAX: Final = 512 * 1024
"""Of all ranks together: below, one gather and a fold take a third of the time of gloo's all-reduce."""


class Transport(NamedTuple):
    """How tensors go between processes."""

    name: str
    """Of the backend."""
    not_summed: frozenset[torch.dtype]
    """Dtypes that its all-reduce does not add: gathered and folded here, as all small arrays are."""
    placement: Callable[[int], str]
    """Takes the process's number on its machine; returns the device of its replicas.  Raises BackendUnavailable."""
    connect: Callable[[Any, int, int, str, float, str], Group]
    """Takes store, rank, size, host of the rendezvous, seconds and placement; returns connections to all."""
    wait: Callable[[Callable[[], Any], ControlChannel, float], None]
    """Takes a function that starts a call, the control channel and seconds; returns when the call has ended.

    Raises RuntimeError. No frame may keep the call's work then: with the traceback it would keep the connections.
    """
    shut: Callable[[Group], None]
    """Ends the connections, also those of a call that waits."""


@final
class ProcessBackend:
    """This process's replicas, equally many in each, and its connections to the others.

    group, channel: the backend closes them. rank, size: of the process, and the number of processes.
    replicas: of each process, all on `placement`. shut: ends the group, once. folded_bytes_max: bytes of all
    ranks together, up to which a sum is gathered and folded; the same in all processes.
    """

    __slots__ = (
        "_channel",
        "_folded_bytes_max",
        "_group",
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
        channel: ControlChannel,
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
        self._channel = channel
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
        """Waits for the device; every group-call has ended when it returns."""
        finished(self._placement)

    def close(self) -> None:
        """Ends the connections, and with them the transport's threads.  The other processes need not close."""
        self._channel.close()
        self._drop()

    def cell(self, initial: torch.Tensor) -> TorchCell:
        return TorchCell(initial)

    def all_reduce(self, arrays: Arrays, op: Op) -> Arrays:
        return self._to_each(self._total("all_reduce", arrays, op))

    def reduce(self, arrays: Arrays, op: Op, *, root: int) -> torch.Tensor | None:
        total = self._total("reduce", arrays, op)
        return total if root // self._replicas == self._rank else None

    def broadcast(self, array: torch.Tensor | None, *, spec: ArraySpec, root: int) -> Arrays:
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
        """Returns the notes of all processes, in rank order; see `simstrategy.peers.ControlChannel.exchange`.

        timeout_s: seconds; None takes the backend's own limit. Raises PeerFailed, at once where a process has ended.
        """
        try:
            return self._channel.exchange(note, self._timeout_s if timeout_s is None else timeout_s)
        except BaseException:
            if self._channel.failure is not None:
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
            return list(received.flatten(0, 1).unbind())  # there are no bytes to send
        blocks = list(_bytes(received).reshape(self._size, -1).unbind())
        self._call(call, lambda: self._open.allgather([blocks], [_bytes(rows)], distributed.AllgatherOptions()))
        return list(received.flatten(0, 1).unbind())

    @property
    def _open(self) -> Group:
        # Used in one expression and kept by no frame: a traceback would keep the connections open.
        assert self._group is not None, "`_call` raises before"
        return self._group

    def _drop(self) -> None:
        """Ends the group: calls of it that wait in other processes fail at once."""
        group, self._group = self._group, None
        if group is not None:
            self._shut(group)

    def _call(self, call: str, start: Callable[[], Any]) -> None:
        self._channel.require_alive(call)
        try:
            self._transport.wait(start, self._channel, self._timeout_s)
        except BackendUnavailable:
            raise
        except RuntimeError as error:  # PyTorch has no class for errors of the network
            problem = (str(error).strip().splitlines() or ["no text"])[0]
            reason = self._channel.probe_peers(call, problem)
            self._drop()
            raise self._channel.peer_failed(call, reason) from error
        except BaseException as error:
            reason = f"worker {self._rank} was interrupted in {call} by {type(error).__name__}"
            self._channel.report_fault(reason, (self._rank,))
            self._drop()
            raise


def _bytes(array: torch.Tensor) -> torch.Tensor:
    return array.contiguous().reshape(-1).view(torch.uint8)


if TYPE_CHECKING:
    _: type[Backend[torch.Tensor]] = ProcessBackend
