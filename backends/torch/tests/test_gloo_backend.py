"""The gloo backend alone in its process: opening, notes, settings that cannot be, and what closing leaves behind."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import simstrategy as ss
from simstrategy.device import Backend, Strict
from simstrategy.errors import BackendUnavailable, InvalidArgument, PeerFailed


@pytest.fixture(autouse=True)
def without_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "GLOO_SOCKET_IFNAME"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def backend() -> Iterator[Backend]:
    opened = ss.backend("gloo")
    yield Strict(opened)
    opened.close()


def test_without_an_environment_a_process_is_a_world_of_its_own(backend: Backend) -> None:
    assert backend.devices == backend.local_devices
    assert backend.devices[0] == (0, 0, "cpu")
    given = backend.put(np.float32([1, 2]), backend.devices[0])
    results: list[Any] = [backend.all_reduce((given,), "SUM")[0], backend.reduce((given,), "MIN", root=0)]
    results += backend.all_gather((given,), axis=0, sizes=(2,))
    results += backend.broadcast(given, spec=backend.spec(given), root=0)
    given.fill_(9)
    assert [one.tolist() for one in results] == [[1, 2]] * 4


def test_no_gradient_flows_through_group_calls(backend: Backend) -> None:
    given = torch.ones(3, requires_grad=True)
    large = torch.ones(200_000, requires_grad=True)
    for array in (given, large, given.expand(2, 3), given * 2):
        results = [*backend.all_reduce((array,), "SUM"), backend.reduce((array,), "MAX", root=0)]
        results += backend.all_gather((array,), axis=0, sizes=(array.shape[0],))
        results += backend.broadcast(array, spec=backend.spec(array), root=0)
        assert not any(one.requires_grad for one in results if one is not None)
        assert all(torch.equal(one, array) for one in results if one is not None)


def test_a_strategy_of_one_process_equals_the_simulator(backend: Backend) -> None:
    def program(strategy: ss.Strategy) -> Any:
        with strategy.scope():
            weights = ss.Variable(np.float32([1, 2]), aggregation=ss.VariableAggregation.SUM)

        def step(batch: Any) -> Any:
            context = ss.get_replica_context()
            assert context is not None
            weights.assign_add(context.all_reduce("MEAN", context.xp.sum(batch, axis=0)))
            return batch

        for batch in strategy.experimental_distribute_dataset([np.ones((2, 2), np.float32)]):
            summed = strategy.reduce("SUM", strategy.run(step, args=(batch,)), axis=0)
        return weights.numpy().tolist(), np.asarray(summed).tolist()

    assert program(ss.Strategy.multi_worker(backend)) == program(ss.Strategy.multi_worker("sim"))


@pytest.mark.parametrize("length", [0, 1, 2039, 2040, 2041, 100_000])
def test_notes_of_any_length_come_whole(backend: Backend, length: int) -> None:
    note = os.urandom(length)
    assert backend.exchange(note, timeout_s=1.0) == (note,)


def test_closing_leaves_no_thread_and_no_open_file_and_may_be_repeated() -> None:
    def held() -> set[str]:  # a thread or a file of an earlier test may go meanwhile
        return {f"{kind} {one}" for kind in ("task", "fd") for one in os.listdir(f"/proc/self/{kind}")}

    ss.backend("gloo").close()  # PyTorch keeps what it makes at first
    before = held()
    for _ in range(3):
        backend = ss.backend("gloo")
        assert held() - before
        backend.close()
        backend.close()
        assert held() <= before


def test_a_closed_backend_says_so() -> None:
    backend = ss.backend("gloo")
    backend.close()
    with pytest.raises(BackendUnavailable, match="was closed"):
        backend.exchange(b"", timeout_s=None)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"replicas": 0}, "at least 1"),
        ({"rank": 2, "world_size": 2}, "ranks are 0 to 1"),
        ({"rank": 0}, "WORLD_SIZE"),
        ({"world_size": 2}, "RANK"),
        ({"rank": 0, "world_size": 2}, "MASTER_PORT"),
        ({"rank": 0, "world_size": 2, "init_method": "udp://here:1"}, "init_method is"),
        ({"rank": 0, "world_size": 2, "init_method": "tcp://127.0.0.1"}, "init_method is"),
        ({"timeout_s": 0}, "above 0"),
    ],
)
def test_impossible_settings_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        ss.backend("gloo", **options)


def test_an_environment_that_is_no_number_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "zero")
    with pytest.raises(InvalidArgument, match="found 'zero' instead of a number"):
        ss.backend("gloo")


def test_missing_processes_are_waited_for_and_then_named(tmp_path: Path) -> None:
    with pytest.raises(PeerFailed, match="worker 0 of 2: rank 1 did not come"):
        ss.backend("gloo", rank=0, world_size=2, init_method=f"file://{tmp_path / 'meet'}", timeout_s=0.05)


def test_a_place_that_cannot_be_had_is_named() -> None:
    with pytest.raises(BackendUnavailable, match=r"worker 1 of 2, cannot reach the others at 127.0.0.1:1"):
        ss.backend("gloo", rank=1, world_size=2, init_method="tcp://127.0.0.1:1", timeout_s=0.05)


def test_the_default_group_of_the_program_is_left_alone(backend: Backend) -> None:
    assert not torch.distributed.is_initialized()
