"""Scripts that spawn their ranks themselves: `simstrategy torchrun --spawned`.

Clauses: G-83, G-84.
"""

import pytest
from commanded import spawning

SCRIPT = """
import sys
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

def main(rank, size, store):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=size)
    assert type(dist.distributed_c10d._get_default_group()).__name__ == "ProcessGroupGloo"
    total = torch.ones(2) * rank
    work = dist.all_reduce(total, async_op=True)
    if sys.argv[1] == "early":
        total / 2
    if sys.argv[1] == "never":
        return
    work.wait()
    if rank == 0:
        print("total", total[0].item())
    if sys.argv[1] == "apart" and rank:
        dist.barrier()
    if sys.argv[1] == "forgotten":
        dist.all_reduce(torch.ones(2 + rank), async_op=True)
    elif sys.argv[1] == "apart":
        dist.all_reduce(total)

if __name__ == "__main__":
    mp.spawn(main, args=(3, sys.argv[2]), nprocs=3)
    print("the end")
"""


def spawned(folder, what):
    return spawning(folder, SCRIPT, what, str(folder / "store"))


@pytest.mark.slow
def test_a_script_that_spawns_its_ranks_prints_and_ends_as_it_does(tmp_path):
    run = spawned(tmp_path, "right")
    assert (run.code, run.out) == (0, "total 3.0\nthe end\n"), run.err


@pytest.mark.slow
def test_ranks_that_differ_raise_in_the_script_with_all_lines(tmp_path):
    run = spawned(tmp_path, "apart")
    assert run.code == 1
    assert "the end" not in run.out
    assert "ProcessRaisedException" in run.err
    assert "rank 2: barrier at script.py:" in run.err


@pytest.mark.deep
@pytest.mark.slow
@pytest.mark.parametrize(
    ("what", "text"),
    [("early", "before they are there"), ("forgotten", "different")],
)
def test_what_no_rank_raises_is_shown_at_the_end_and_the_exit_code_is_one(tmp_path, what, text):
    run = spawned(tmp_path, what)
    assert "the end" in run.out
    assert run.code == 1, run.err
    assert text in run.err


@pytest.mark.slow
def test_a_script_that_spawns_nothing_is_told_so(tmp_path):
    run = spawning(tmp_path, "print('alone')\n")
    assert (run.code, run.out) == (0, "alone\n")
    assert "has spawned no process" in run.err


DRAWN = """
import sys
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

def main(rank, store):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    torch.manual_seed(rank)
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        model(torch.ones(1, 2)).sum().backward()
        for one in model.parameters():
            dist.all_reduce(one.grad)
        optimizer.step()

if __name__ == "__main__":
    mp.spawn(main, args=(sys.argv[1],), nprocs=2)
    print("the end")
"""


@pytest.mark.deep
@pytest.mark.slow
def test_what_ranks_draw_after_they_have_joined_is_judged_where_it_is_named(tmp_path):
    run = spawning(tmp_path, DRAWN, str(tmp_path / "store"), options=["--laws", "random"])
    assert (run.code, run.out) == (1, "the end\n"), run.err
    assert "rank 1: parameter 0 begins with [" in run.err
    assert "drawn by kaiming_uniform_ at script.py:10, seeded with 1 at script.py:9" in run.err
    assert spawning(tmp_path, DRAWN, str(tmp_path / "other")).code == 0
