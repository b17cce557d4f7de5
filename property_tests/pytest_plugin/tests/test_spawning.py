"""Tests that spawn processes, in whatever way: with --simulated-ranks these are simulated ranks.

Clauses: G-68, G-80, G-81, G-82, G-83, G-84.
"""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from sessions import run_pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        "not __import__('importlib').util.find_spec('simstrategy_torch_distributed')", reason="no torch"
    ),
]

CASES = """
import os
import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.multiprocessing import spawn

def join(rank, size, folder):
    assert "TORCHELASTIC_RUN_ID" not in os.environ
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=size)
    assert type(dist.distributed_c10d._get_default_group()).__name__ == "ProcessGroupGloo"

def total(rank, size, folder, expected):
    join(rank, size, folder)
    x = torch.ones(2) * rank
    dist.all_reduce(x)
    assert x[0].item() == expected

def shares(rank, size, folder, queue, tensor, lock, found):
    join(rank, size, folder)
    with lock:
        tensor[rank] = rank + 1
        found[rank] = os.environ["OF_THE_TEST"]
    queue.put(rank)

def barrier_alone(rank, folder):
    join(rank, 2, folder)
    if rank == 0:
        dist.barrier()
    dist.broadcast(torch.zeros(3), 0)

def used_early(rank, folder):
    join(rank, 2, folder)
    x = torch.ones(2)
    work = dist.all_reduce(x, async_op=True)
    half = x / 2
    work.wait()

def killed(rank):
    if rank == 1:
        os.kill(os.getpid(), 9)

def test_total(tmp_path):
    spawn(total, args=(3, tmp_path, 3.0), nprocs=3)

def test_wrong_total(tmp_path):
    mp.spawn(total, args=(2, tmp_path, 7.0), nprocs=2)

def test_barrier_alone(tmp_path):
    mp.spawn(barrier_alone, args=(tmp_path,), nprocs=2)

def test_used_early(tmp_path):
    mp.spawn(used_early, args=(tmp_path,), nprocs=2)

def test_shared(tmp_path, monkeypatch):
    monkeypatch.setenv("OF_THE_TEST", "here")
    one = mp.get_context("spawn")
    tensor, queue, lock = torch.zeros(2).share_memory_(), one.SimpleQueue(), one.Lock()
    with one.Manager() as manager:
        found = manager.dict()
        context = mp.start_processes(shares, args=(2, tmp_path, queue, tensor, lock, found), nprocs=2, join=False)
        assert sorted([queue.get(), queue.get()]) == [0, 1]
        while not context.join():
            pass
        assert dict(found) == {0: "here", 1: "here"}
    assert tensor.tolist() == [1.0, 2.0]

def test_killed():
    with pytest.raises(mp.ProcessExitedException) as raised:
        mp.spawn(killed, nprocs=2)
    assert (raised.value.error_index, raised.value.signal_name) == (1, "SIGKILL")

def test_not_at_the_top():
    mp.spawn(lambda rank: None, nprocs=2)
"""
RED = {
    "test_wrong_total": (
        "ProcessRaisedException: ",
        "assert x[0].item() == expected",
        "AssertionError: assert 1.0 == 7.0",
    ),
    "test_barrier_alone": ("Ranks make different collective calls here.", "rank 0: barrier at test_cases.py:"),
    "test_used_early": (
        "Results of asynchronous calls are used",
        "rank 1: all_reduce SUM float32[2] at test_cases.py:",
    ),
    "test_not_at_the_top": ("Can't pickle local object", "test_not_at_the_top.<locals>"),
}
CLASSES = """
import sys
import unittest
import torch
import torch.distributed as dist
from torch.testing._internal.common_distributed import MultiProcContinuousTest, MultiProcessTestCase

def is_simulated():
    return type(dist.distributed_c10d._get_default_group()).__name__ == "ProcessGroupGloo"

class OneByOne(MultiProcessTestCase):
    @property
    def world_size(self):
        return 3

    def setUp(self):
        super().setUp()
        self._spawn_processes()

    def join(self):
        store = dist.FileStore(self.file_name, self.world_size)
        dist.init_process_group("gloo", store=store, rank=self.rank, world_size=self.world_size)
        assert is_simulated()

    def total(self):
        x = torch.ones(2) * self.rank
        dist.all_reduce(x)
        return x[0].item()

    def test_total(self):
        self.join()
        odd = dist.new_group([0, 2])
        x = torch.ones(1)
        if self.rank != 1:
            dist.all_reduce(x, group=odd)
            self.assertEqual(x.item(), 2.0)
        self.assertEqual(self.total(), 3.0)

    def test_wrong_total(self):
        self.join()
        self.assertEqual(self.total(), 3.0 + (self.rank == 2))

    def test_other_calls(self):
        self.join()
        if self.rank == 1:
            dist.barrier()
        self.total()

    def test_error_is_expected(self):
        self.join()
        with self.assertRaises(RuntimeError):
            self.total() if self.rank else dist.barrier()

    def test_one_has_ended(self):
        self.join()
        if self.rank == 1:
            sys.exit(0)
        self.total()

    def test_two_groups_one_after_the_other(self):
        self.join()
        self.assertEqual(self.total(), 3.0)
        dist.destroy_process_group()
        store = dist.FileStore(self.file_name + "again", 2)
        if self.rank < 2:
            dist.init_process_group("gloo", store=store, rank=1 - self.rank, world_size=2)
            self.assertEqual(self.total(), 1.0)

    def test_skipped(self):
        raise unittest.SkipTest("no data")

    def test_used_early(self):
        self.join()
        x = torch.ones(2)
        work = dist.all_reduce(x, async_op=True)
        x / 2
        work.wait()

class Kept(MultiProcContinuousTest):
    world_size = 2

    @classmethod
    def backend_str(cls):
        return "gloo"

    def test_first(self):
        assert is_simulated()
        Kept.seen = torch.ones(3)
        dist.all_reduce(Kept.seen)

    def test_second(self):
        self.assertEqual(Kept.seen[0].item(), 2.0)
"""
CLASSES_RED = {
    "test_wrong_total": ("Process 2 exited with error code 10", "Expected 4.0 but got 3.0"),
    "test_other_calls": (
        "ReplicasDisagree: Ranks make different",
        "rank 1: barrier at test_classes.py:",
    ),
    "test_one_has_ended": ("Ranks wait for calls that no rank will make", "rank 1: has ended"),
    "test_used_early": ("rank 2: all_reduce SUM float32[2] at test_classes.py:",),
}
OTHERS = """
import multiprocessing
import os
import pytest
import torch
import torch.distributed as dist
from torch.distributed.launcher import LaunchConfig, elastic_launch

def total(rank, size, place):
    dist.init_process_group("gloo", init_method=place, rank=rank, world_size=size)
    assert type(dist.distributed_c10d._get_default_group()).__name__ == "ProcessGroupGloo"
    x = torch.ones(2) * rank
    dist.all_reduce(x)
    return x[0].item()

def launched(one):
    dist.init_process_group("gloo")
    assert type(dist.distributed_c10d._get_default_group()).__name__ == "ProcessGroupGloo"
    x = torch.ones(1) * one
    dist.all_reduce(x)
    return int(os.environ["RANK"]), x.item()

def printed(rank):
    print("from", rank)

@pytest.fixture
def place(tmp_path):
    return f"file://{tmp_path}/store"

@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_processes(place, method):
    context = multiprocessing.get_context(method)
    found = [context.Process(target=total, args=(rank, 2, place)) for rank in (1, 0)]
    for one in found:
        one.start()
    for one in found:
        one.join()
        assert one.exitcode == 0

def test_pool(place):
    with torch.multiprocessing.get_context("spawn").Pool(2) as pool:
        assert pool.starmap(total, [(rank, 2, place) for rank in (1, 0)], chunksize=1) == [1.0, 1.0]

def test_launcher():
    settings = {"rdzv_backend": "c10d", "rdzv_endpoint": "localhost:0", "max_restarts": 0, "monitor_interval": 0.1}
    config = LaunchConfig(1, 1, 2, **settings)
    assert elastic_launch(config, launched)(2.0) == {0: (0, 4.0), 1: (1, 4.0)}

def test_output(capfd):
    one = multiprocessing.get_context("spawn").Process(target=printed, args=(5,))
    one.start()
    one.join()
    assert capfd.readouterr().out == "from 5\\n"

def test_too_many(place):
    one = multiprocessing.get_context("spawn").Process(target=total, args=(0, 1000, place))
    one.start()
    one.join()
    assert one.exitcode == 1
"""


def require_red(ended, red):
    assert set(ended.failures) == set(red), ended.output
    for name, parts in red.items():
        for part in parts:
            assert part in ended.failures[name]


@pytest.mark.deep
def test_spawned_functions_run_on_simulated_ranks_with_what_they_share(tmp_path):
    (tmp_path / "test_cases.py").write_text(CASES)
    ended = run_pytest(tmp_path, "--simulated-ranks")
    assert sorted(ended.passed) == ["test_killed", "test_shared", "test_total"], ended.output
    require_red(ended, RED)
    assert "simulated ranks: 11, of 14 spawned processes" in ended.output


@pytest.mark.deep
def test_the_test_classes_of_torch_run_on_simulated_ranks(tmp_path):
    pytest.importorskip("expecttest", reason="torch.testing needs it")
    (tmp_path / "test_classes.py").write_text(CLASSES)
    ended = run_pytest(tmp_path, "--simulated-ranks", "--import-mode=importlib")
    passed = {
        "test_total",
        "test_error_is_expected",
        "test_two_groups_one_after_the_other",
        "test_first",
        "test_second",
    }
    assert set(ended.passed) == passed, ended.output
    require_red(ended, CLASSES_RED)
    assert "1 skipped" in ended.output


@pytest.mark.deep
def test_processes_pools_and_launchers_run_on_simulated_ranks(tmp_path):
    (tmp_path / "test_others.py").write_text(OTHERS)
    ended = run_pytest(tmp_path, "--simulated-ranks")
    assert not ended.failures, ended.output
    assert len(ended.passed) == 6
    assert "simulated ranks: 8, of 10 spawned processes" in ended.output
