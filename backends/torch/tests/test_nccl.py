"""The backend `nccl` up to the calls of its process group, which is a fake: the arithmetic of a GPU is not here."""

import socket
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

import simstrategy as ss
from simstrategy.device import Strict
from simstrategy.errors import BackendUnavailable, InvalidArgument, PeerFailed
from simstrategy.peers import ControlChannel
from simstrategy_torch.processes import ProcessBackend
from simstrategy_torch.rendezvous import open_processes
from simstrategy_torch.transports import NCCL

SIZE = 3


class Work:
    """Ends after it was asked three times; or never."""

    def __init__(self, *, ends: bool) -> None:
        self.asked, self.waited, self.ends = 0, False, ends

    def is_completed(self) -> bool:
        self.asked += 1
        return self.ends and self.asked > 3

    def wait(self) -> None:
        assert self.is_completed()
        self.waited = True


class Group:
    """A process group whose other members have what this one has."""

    def __init__(self) -> None:
        self.calls: list[Any] = []
        self.works: list[Work] = []
        self.aborted = 0
        self.ends = True

    def _work(self, *call: Any) -> Work:
        self.calls.append(call)
        self.works.append(Work(ends=self.ends))
        return self.works[-1]

    def allreduce(self, arrays: list[torch.Tensor], options: Any) -> Work:
        assert options.reduceOp == torch.distributed.ReduceOp.SUM
        arrays[0].mul_(SIZE)
        return self._work("allreduce", arrays[0].dtype, tuple(arrays[0].shape))

    def allgather(self, blocks: list[list[torch.Tensor]], arrays: list[torch.Tensor], options: Any) -> Work:
        for block in blocks[0]:
            block.copy_(arrays[0])
        return self._work("allgather", arrays[0].dtype, tuple(arrays[0].shape))

    def broadcast(self, arrays: list[torch.Tensor], options: Any) -> Work:
        return self._work("broadcast", arrays[0].dtype, options.rootRank)

    def abort(self) -> None:
        self.aborted += 1


@pytest.fixture
def group() -> Group:
    return Group()


@pytest.fixture
def far_ends() -> Iterator[dict[int, socket.socket]]:
    ends: dict[int, socket.socket] = {}
    yield ends
    for end in ends.values():
        end.close()


@pytest.fixture
def backend(group: Group, far_ends: dict[int, socket.socket]) -> Iterator[ProcessBackend]:
    pairs = {rank: socket.socketpair() for rank in (0, 2)}
    far_ends.update({rank: pair[1] for rank, pair in pairs.items()})
    channel = ControlChannel("nccl", 1, {rank: pair[0] for rank, pair in pairs.items()})
    opened = ProcessBackend(
        NCCL, group, channel, rank=1, size=SIZE, placement="cpu", timeout_s=0.2, shut=NCCL.shut, replicas=2
    )
    yield opened
    opened.close()


def both(backend: ProcessBackend, first: Any, second: Any) -> tuple[Any, ...]:
    return tuple(backend.put(one, device) for one, device in zip((first, second), backend.local_devices, strict=True))


def test_two_replicas_a_process_have_their_ranks_among_all(backend: ProcessBackend) -> None:
    assert backend.name == "nccl"
    assert [(device.rank, device.process) for device in backend.local_devices] == [(2, 1), (3, 1)]
    assert len(backend.devices) == 6


def test_small_arrays_are_gathered_as_bytes_and_folded(backend: ProcessBackend, group: Group) -> None:
    arrays = both(backend, np.float32([1, 2]), np.float32([10, 20]))
    results = Strict(backend).all_reduce(arrays, "SUM")
    assert [one.tolist() for one in results] == [[33, 66]] * 2
    assert group.calls == [("allgather", torch.uint8, (16,))]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "int32", "int64"])
def test_large_sums_are_added_here_and_all_reduced_once(backend: ProcessBackend, group: Group, dtype: str) -> None:
    array = torch.ones(300_000, dtype=getattr(torch, dtype))
    results = backend.all_reduce((array, array), "SUM")
    assert [one.unique().tolist() for one in results] == [[6]] * 2
    assert group.calls == [("allreduce", array.dtype, (300_000,))]
    assert array.unique().tolist() == [1]


@pytest.mark.parametrize("dtype", ["int16", "complex64"])
def test_what_nccl_cannot_add_is_gathered(backend: ProcessBackend, group: Group, dtype: str) -> None:
    array = torch.ones(300_000, dtype=getattr(torch, dtype))
    assert bool((backend.all_reduce((array, array), "SUM")[0] == 6).all())
    assert [call[0] for call in group.calls] == ["allgather"]


def test_broadcasts_come_from_the_roots_process(backend: ProcessBackend, group: Group) -> None:
    array = backend.put(np.float32([1, 2]), backend.local_devices[0])
    backend.broadcast(array, spec=backend.spec(array), root=3)
    backend.broadcast(None, spec=backend.spec(array), root=5)
    assert group.calls == [("broadcast", torch.uint8, 1), ("broadcast", torch.uint8, 2)]


def test_uneven_gathers_are_padded_and_cut(backend: ProcessBackend, group: Group) -> None:
    arrays = both(backend, np.float32([1]), np.float32([2, 3]))
    results = backend.all_gather(arrays, axis=0, sizes=(1, 2) * 3)
    assert [one.tolist() for one in results] == [[1, 2, 3] * 3] * 2


def test_every_call_is_waited_for_on_the_host(backend: ProcessBackend, group: Group) -> None:
    backend.all_reduce(both(backend, np.ones(2), np.ones(2)), "SUM")
    assert [work.waited for work in group.works] == [True]
    assert group.works[0].asked > 3


def test_a_peer_that_dies_during_a_call_ends_it_by_name(
    backend: ProcessBackend, group: Group, far_ends: dict[int, socket.socket]
) -> None:
    group.ends = False
    far_ends[2].close()
    with pytest.raises(PeerFailed, match="all_reduce in worker 1 of 3: worker 2 ended or lost the connection"):
        backend.all_reduce(both(backend, np.ones(2), np.ones(2)), "SUM")
    assert group.aborted == 1
    with pytest.raises(PeerFailed, match="worker 2 ended"):
        backend.exchange(b"", timeout_s=None)


def test_a_call_that_does_not_end_is_ended_when_its_time_is_over(backend: ProcessBackend, group: Group) -> None:
    group.ends = False
    with pytest.raises(PeerFailed, match=r"workers 0, 2 did not answer; all_reduce ended with: it did not end within"):
        backend.all_reduce(both(backend, np.ones(2), np.ones(2)), "SUM")
    assert group.aborted == 1


def test_an_interrupt_in_a_call_is_told_to_the_others(
    backend: ProcessBackend, group: Group, far_ends: dict[int, socket.socket]
) -> None:
    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    group.allgather = interrupted  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        backend.all_reduce(both(backend, np.ones(2), np.ones(2)), "SUM")
    assert far_ends[0].recv(1000).endswith(b"1:worker 1 was interrupted in all_reduce by KeyboardInterrupt")
    assert group.aborted == 1


def test_closing_aborts_once(backend: ProcessBackend, group: Group) -> None:
    backend.close()
    backend.close()
    assert group.aborted == 1
    with pytest.raises(BackendUnavailable, match="This backend 'nccl' was closed"):
        backend.exchange(b"", timeout_s=None)
    with pytest.raises(BackendUnavailable, match="was closed"):
        backend.all_reduce(both(backend, np.ones(2), np.ones(2)), "SUM")


def test_opening_connects_the_group_of_the_gpu_of_this_process(group: Group) -> None:
    asked: list[Any] = []

    def connect(store: Any, *arguments: Any) -> Group:
        store.set("key", "value")
        asked.append(arguments)
        return group

    def placement(number: int) -> str:
        asked.append(number)
        return "cpu"

    transport = NCCL._replace(connect=connect, placement=placement)
    backend = open_processes(transport, 2, 0, 1, None, 30.0)
    assert asked == [0, (0, 1, "127.0.0.1", 30.0, "cpu")]
    strategy = ss.Strategy.multi_worker(backend)
    assert strategy.num_replicas_in_sync == 2
    backend.close()
    assert group.aborted == 1


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_it_says_so() -> None:
    with pytest.raises(BackendUnavailable, match="finds no GPU here"):
        ss.backend("nccl")
    with pytest.raises(BackendUnavailable, match="finds no GPU here"):
        ss.backend("torch", device="cuda:0")


@pytest.mark.parametrize("device", ["tpu", "cuda:x", 1.5, "meta", ""])
def test_what_is_no_device_is_refused(device: Any) -> None:
    with pytest.raises(InvalidArgument, match=r'device is ("cpu" or a GPU|a text)'):
        ss.backend("torch", device=device)
