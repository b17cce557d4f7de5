"""Tests that spawn processes by torch.multiprocessing: with --simulated-ranks these are simulated ranks.

Clauses: G-68.
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
    "test_wrong_total": ("ProcessRaisedException: ", "AssertionError(assert 1.0 == 7.0", "test_cases.py:"),
    "test_barrier_alone": ("Ranks make different collective calls here.", "rank 0: barrier at test_cases.py:"),
    "test_used_early": ("ProcessRaisedException: ", "rank 1: all_reduce SUM float32[2] at test_cases.py:"),
    "test_not_at_the_top": ("cannot be sent to simulated ranks", "a function at the top level of a file"),
}


def test_spawned_functions_run_on_simulated_ranks_with_what_they_share(tmp_path):
    (tmp_path / "test_cases.py").write_text(CASES)
    ended = run_pytest(tmp_path, "--simulated-ranks")
    assert sorted(ended.passed) == ["test_killed", "test_shared", "test_total"], ended.output
    assert set(ended.failures) == set(RED)
    for name, parts in RED.items():
        for part in parts:
            assert part in ended.failures[name]
