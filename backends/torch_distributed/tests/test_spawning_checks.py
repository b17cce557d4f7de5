"""Scripts that spawn their ranks themselves, judged by `check --as python`.

Clauses: G-109, G-115.
"""

import pytest
from shares import one_in

from simstrategy.check.scripts import check_script
from simstrategy_torch_distributed.checking.front import spawning_runner_of

pytestmark = pytest.mark.slow

TRAINING = """
import os, sys
import torch, torch.distributed as dist, torch.multiprocessing as mp

def train(rank, count, scale):
    os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "10.57.23.164", "8888"
    dist.init_process_group("gloo", init_method="env://", rank=rank, world_size=count)
    torch.manual_seed(0)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    rows = torch.arange(36.0).reshape(12, 3).chunk(count)[rank] / 36
    for _ in range(2):
        optimizer.zero_grad()
        loss = model(rows).square().mean() * scale
        loss.backward()
        optimizer.step()
    dist.destroy_process_group()

if __name__ == "__main__":
    count = int(sys.argv[1])
    scale = count if "scaled" in sys.argv else 1
    mp.spawn(train, args=(count, scale), nprocs=count)
    if "again" in sys.argv:
        mp.spawn(train, args=(count, scale), nprocs=count)
"""
SHARED = """
import os, sys
import torch, torch.distributed as dist, torch.multiprocessing as mp

def work(rank, count, queue, shared):
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(count), MASTER_ADDR="127.0.0.1", MASTER_PORT="29533")
    assert "LOCAL_RANK" not in os.environ
    dist.init_process_group("gloo")
    total = torch.ones(2)
    dist.all_reduce(total)
    shared[rank] = total.tolist()
    if rank == 0:
        queue.put(total.tolist())

if __name__ == "__main__":
    mp.set_start_method("spawn")
    count, queue, shared = int(sys.argv[1]), mp.Queue(), mp.Manager().dict()
    processes = [mp.Process(target=work, args=(rank, count, queue, shared)) for rank in range(count)]
    for one in processes:
        one.start()
    assert queue.get() == [count, count]
    for one in processes:
        one.join()
    assert [one.exitcode for one in processes] == [0] * count and len(shared) == count
"""
BEGIN = """
import sys
import torch, torch.distributed as dist, torch.multiprocessing as mp

def join(rank, count):
    dist.init_process_group("gloo", init_method="tcp://10.57.23.164:29511", rank=rank, world_size=count)
    return torch.ones(2)
"""
FAILING = {
    "a pool": (
        """
if __name__ == "__main__":
    with mp.get_context("spawn").Pool(2) as pool:
        pool.map(abs, [1, 2])
""",
        "and Unsupported(A pool gives a task to whichever of its processes is free",
    ),
    "a pool of futures": (
        """
from concurrent.futures import ProcessPoolExecutor

if __name__ == "__main__":
    with ProcessPoolExecutor(2, mp_context=mp.get_context("spawn")) as pool:
        list(pool.map(abs, [1, 2]))
""",
        "Start the ranks with torch.multiprocessing.spawn, or each as a Process",
    ),
    "the script's own process was killed": (
        """
import os, signal
if __name__ == "__main__":
    os.kill(os.getpid(), signal.SIGKILL)
""",
        "rank 1: was given no process: the script's own process was killed",
    ),
    "an error in one process": (
        """
def work(rank, count):
    total = join(rank, count)
    if rank == 1:
        raise ValueError("row 7 is empty")
    dist.all_reduce(total)

if __name__ == "__main__":
    mp.spawn(work, (2,), nprocs=2)
""",
        "rank 1: ValueError(row 7 is empty) raised at script.py:12",
    ),
    "other calls": (
        """
def work(rank, count):
    total = join(rank, count)
    dist.broadcast(total, 0) if rank else dist.all_reduce(total)

if __name__ == "__main__":
    mp.spawn(work, (2,), nprocs=2)
""",
        "rank 1: broadcast root 0 float32[2] at script.py:11",
    ),
    "an error before": (
        """
if __name__ == "__main__":
    open("missing.csv")
""",
        "rank 0: was given no process: the script spawned 0 for 2 replicas, and FileNotFoundError",
    ),
    "an error after": (
        """
if __name__ == "__main__":
    mp.spawn(join, (2,), nprocs=2)
    raise KeyError("accuracy")
""",
        "its own process has failed: KeyError('accuracy') raised at script.py:11",
    ),
    "a group of another size": (
        """
if __name__ == "__main__":
    mp.spawn(join, (1,), nprocs=1)
""",
        "init_process_group at script.py:6 makes a group of 1, and the replicas of this run are 2. Give the script",
    ),
    "more processes": (
        """
import time

def hold(rank):
    time.sleep(600)

if __name__ == "__main__":
    mp.spawn(hold, (), nprocs=3, daemon=True)
""",
        "The script spawns more processes at a time than the 2 replicas of this run. Give it their number",
    ),
}


@pytest.fixture
def check(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def checked(text, *arguments, replicas=(1, 2)):
        (tmp_path / "script.py").write_text(text)
        return check_script(spawning_runner_of, "script.py", arguments=["{replicas}", *arguments], replicas=[*replicas])

    return checked


@pytest.mark.deep
def test_a_lawful_script_agrees_whatever_address_its_processes_would_meet_at(check):
    report = check(TRAINING)
    assert report.verdict == "agree", str(report)
    assert {row.backend for row in report.rows} == {"python"}
    assert report.rows[-1].compared


def test_a_factor_has_its_step_line_and_kind(check):
    report = check(TRAINING, "scaled")
    (finding,) = [one for one in report.findings if one.law == "replicas"]
    assert "The kind is scaled by the number of replicas" in str(finding)
    assert "In the script it begins with 'loss' at script.py:14" in str(finding)


@pytest.mark.deep
def test_a_script_may_spawn_again_and_all_steps_count(check):
    once, twice = [check(TRAINING, *more, replicas=(2,)) for more in ((), ("again",))]
    assert not once.findings
    assert not twice.findings
    assert twice.rows[0].events == 2 * once.rows[0].events


@pytest.mark.deep
def test_queues_managers_and_loops_over_processes_are_what_they_are(check):
    report = check(SHARED, replicas=(2,))
    assert not report.findings, str(report)
    assert report.rows[0].events


NOT_SIMULATED = {
    "forks": (
        """
if __name__ == "__main__":
    processes = [mp.Process(target=print) for rank in range(2)]
    [one.start() for one in processes]
    [one.join() for one in processes]
""",
        "Call torch.multiprocessing.set_start_method('spawn') first, under if __name__ == '__main__'",
    ),
    "no process": ("dist.is_available()", "give --as torchrun for one that torchrun starts"),
    "remote procedures": (
        """
from torch.distributed import rpc
def work(rank, count):
    join(rank, count)
    rpc.init_rpc(str(rank), rank=rank, world_size=count)
if __name__ == "__main__":
    mp.spawn(work, (2,), nprocs=2)
""",
        "torch.distributed.rpc.init_rpc at script.py:",
    ),
}


@pytest.mark.parametrize("case", one_in(3, NOT_SIMULATED))
def test_what_is_not_simulated_is_not_judged(check, case):
    text, shown = NOT_SIMULATED[case]
    report = check(BEGIN + text, replicas=(2,))
    assert report.verdict == "undecided", str(report)
    assert report.rows[0].why == "not simulated"
    assert shown in str(report), str(report)


@pytest.mark.parametrize("case", one_in(3, FAILING))
def test_what_fails_is_named_with_rank_and_line(check, case):
    text, shown = FAILING[case]
    report = check(BEGIN + text, replicas=(2,))
    assert report.verdict == "differ"
    assert shown in str(report), str(report)
