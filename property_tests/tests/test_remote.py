"""The remote backend: one process holds the arrays, real workers make the group-calls.  Clauses: B-8, B-10, B-15."""

import os
import signal
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from simstrategy.device import ArraySpec, open_backend
from simstrategy.errors import BackendUnavailable, InvalidArgument, PeerFailed, Unsupported
from simstrategy_conformance.remote import RemoteBackend, open_remote

RANKS = 4


@pytest.fixture(scope="module", params=[512 * 1024, 0], ids=["folded", "by gloo"])
def backend(request: pytest.FixtureRequest) -> Iterator[RemoteBackend]:
    opened = open_remote("gloo", 2, replicas=RANKS, folded_bytes_max=request.param)
    yield opened
    opened.close()


def put(backend: RemoteBackend, *hosts: Any) -> tuple[Any, ...]:
    return tuple(backend.put(host, device) for host, device in zip(hosts, backend.devices, strict=True))


def rows(backend: RemoteBackend, count: int = 3) -> tuple[Any, ...]:
    return put(backend, *[np.full(count, 10.0**rank, np.float32) for rank in range(RANKS)])


@pytest.mark.slow
def test_sums_are_over_the_ranks_of_all_processes(backend: RemoteBackend) -> None:
    assert backend.processes == 2
    found = backend.all_reduce(rows(backend), "SUM")
    assert [backend.get(one).tolist() for one in found] == [[1111.0] * 3] * RANKS
    assert backend.get(backend.reduce(rows(backend), "MAX", root=3)).tolist() == [1000.0] * 3


@pytest.mark.slow
def test_arrays_travel_from_any_rank_to_all(backend: RemoteBackend) -> None:
    array = backend.put(np.array([[1, -2]], np.int64), backend.devices[2])
    spec = ArraySpec((1, 2), "int64", "cpu")
    assert [one.tolist() for one in backend.broadcast(array, spec=spec, root=2)] == [[[1, -2]]] * RANKS
    parts = put(backend, *[np.full(rank, rank, np.float32) for rank in range(RANKS)])
    gathered = backend.all_gather(parts, axis=0, sizes=(0, 1, 2, 3))
    assert [one.tolist() for one in gathered] == [[1.0, 2.0, 2.0, 3.0, 3.0, 3.0]] * RANKS


@pytest.mark.slow
def test_a_note_comes_from_every_worker_and_is_told_once(backend: RemoteBackend) -> None:
    assert backend.exchange(b"\0 any bytes \xff", timeout_s=None) == (b"\0 any bytes \xff",)


@pytest.mark.slow
def test_a_workers_error_is_raised_here_with_its_traceback(backend: RemoteBackend) -> None:
    arrays = put(backend, *[np.ones(1, np.complex64)] * RANKS)
    with pytest.raises(Unsupported, match="MAX of complex numbers") as caught:
        backend.all_reduce(arrays, "MAX")
    assert caught.value.__notes__[0].startswith("In worker 0 of 2:\nTraceback")
    assert [one.tolist() for one in backend.all_reduce(rows(backend, 1), "SUM")] == [[1111.0]] * RANKS


@pytest.mark.slow
def test_what_cannot_be_dealt_out_evenly_has_fewer_processes() -> None:
    backend = open_remote("gloo", 2, replicas=3)
    assert (backend.processes, len(backend.devices)) == (1, 3)
    backend.close()
    backend.close()
    with pytest.raises(BackendUnavailable, match=r"^This backend 'gloo' was closed\. Open another one\.$"):
        backend.exchange(b"", timeout_s=None)


@pytest.mark.slow
def test_a_limit_below_nothing_is_refused() -> None:
    with pytest.raises(InvalidArgument, match=r"a number of bytes of at least 0, got -1"):
        open_backend("gloo", folded_bytes_max=-1)


def test_a_backend_of_one_process_is_refused() -> None:
    with pytest.raises(InvalidArgument, match=r"^The backend 'sim' runs in one process only, and 2 were asked for\.$"):
        open_remote("sim", 2, replicas=2)


@pytest.mark.parametrize("count", [0, -1, True, 1.5])
def test_processes_are_counted(count: Any) -> None:
    with pytest.raises(InvalidArgument, match="A number of processes is an int of at least 1"):
        open_remote("sim", count)


@pytest.mark.slow
def test_after_a_worker_has_ended_the_backend_says_so_and_another_one_opens() -> None:
    backend = open_remote("gloo", 2, replicas=2)
    os.kill(backend._launcher.processes[-1], signal.SIGKILL)
    with pytest.raises(PeerFailed, match=r"KeyError: \d+|ended or lost the connection"):
        backend.exchange(b"", timeout_s=None)
    backend.close()
    other = open_remote("gloo", 2, replicas=2)
    assert [one.tolist() for one in other.all_reduce(put(other, np.ones(1), np.ones(1)), "SUM")] == [[2.0], [2.0]]
    other.close()
