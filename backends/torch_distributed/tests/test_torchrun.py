"""Scripts run by the real command, on simulated ranks: results by hand, findings, endings, what is left behind.

Clauses: G-2, G-4, G-5, G-7, G-9.
"""

import os
from pathlib import Path

import pytest
from commanded import torchrun

from simstrategy.trace import Trace

pytestmark = pytest.mark.slow

BEGIN = """\
import os, sys
import torch, torch.distributed as dist
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
"""

COLLECTIVES = """
x = torch.arange(4.0) + rank
dist.all_reduce(x)
assert x.tolist() == [6.0, 10.0, 14.0, 18.0], x
for op, expected in (("MIN", 1.0), ("MAX", 4.0), ("PRODUCT", 24.0), ("AVG", 2.5)):
    y = torch.tensor([rank + 1.0])
    dist.all_reduce(y, getattr(dist.ReduceOp, op))
    assert y.item() == expected, (op, y)
y = torch.full((2, 3), float(rank)).t()
dist.broadcast(y, 2)
assert y.tolist() == [[2.0, 2.0]] * 3
y = torch.ones(2) * rank
dist.reduce(y, 1)
assert rank != 1 or y.tolist() == [6.0, 6.0]
rows = [torch.zeros(2) for _ in range(size)]
dist.all_gather(rows, torch.tensor([rank, -rank]).float())
assert [row.tolist() for row in rows] == [[r, -r] for r in range(size)]
flat = torch.zeros(size)
dist.all_gather_into_tensor(flat, torch.tensor([float(rank)]))
assert flat.tolist() == [0.0, 1.0, 2.0, 3.0]
part = torch.zeros(2)
dist.reduce_scatter_tensor(part, torch.arange(8.0) * (rank + 1))
assert part.tolist() == [20.0 * rank, 20.0 * rank + 10.0]
dist.reduce_scatter(part, [torch.ones(2) * r * (rank + 1) for r in range(size)])
assert part.tolist() == [10.0 * rank] * 2
dist.gather(torch.tensor([float(rank)]), rows := [torch.zeros(1) for _ in range(size)] if rank == 3 else None, dst=3)
assert rank != 3 or [row.item() for row in rows] == [0.0, 1.0, 2.0, 3.0]
one = torch.zeros(1)
dist.scatter(one, [torch.tensor([10.0 * r]) for r in range(size)] if rank == 1 else None, src=1)
assert one.item() == 10.0 * rank
out = torch.zeros(size, dtype=torch.int64)
dist.all_to_all_single(out, torch.arange(size) + 10 * rank)
assert out.tolist() == [10 * r + rank for r in range(size)]
sends, takes = [(rank + r) % 3 for r in range(size)], [(r + rank) % 3 for r in range(size)]
out = torch.zeros(sum(takes), 2)
dist.all_to_all_single(out, torch.full((sum(sends), 2), float(rank)), takes, sends)
assert out[:, 0].tolist() == [float(r) for r in range(size) for _ in range(takes[r])]
objects = [None] * size
dist.all_gather_object(objects, {"rank": rank, "text": "x" * rank})
assert objects == [{"rank": r, "text": "x" * r} for r in range(size)]
"""

GROUPS = """
even, odd = dist.new_group([0, 2]), dist.new_group([1, 3])
mine = odd if rank % 2 else even
x = torch.tensor([float(rank)])
dist.all_reduce(x, group=mine)
assert x.item() == (4.0 if rank % 2 else 2.0)
works = [dist.all_reduce(torch.full((1000,), float(i)), async_op=True) for i in range(60)]
for work in reversed(works):
    work.wait()
assert works[7].result()[0][0].item() == 28.0
after = dist.all_reduce(torch.ones(2), async_op=True).get_future().then(lambda future: future.value()[0] * 2)
assert after.wait().tolist() == [8.0, 8.0]
left = torch.zeros(3)
for work in dist.batch_isend_irecv(
    [dist.P2POp(dist.isend, torch.ones(3) * rank, (rank + 1) % 4), dist.P2POp(dist.irecv, left, (rank - 1) % 4)]
):
    work.wait()
assert left.tolist() == [float((rank - 1) % 4)] * 3
if rank == 0:
    found = []
    for _ in range(3):
        got = torch.zeros(1)
        found.append((dist.recv(got), got.item()))
    assert sorted(found) == [(1, 1.0), (2, 2.0), (3, 3.0)]
else:
    dist.send(torch.tensor([float(rank)]), 0)
with dist._coalescing_manager(async_ops=True) as both:
    a, b = torch.ones(2), torch.ones(3) * rank
    dist.all_reduce(a), dist.all_reduce(b)
both.wait()
assert (a.tolist(), b.tolist()) == ([4.0] * 2, [6.0] * 3)
from torch.distributed.device_mesh import init_device_mesh
mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("outer", "inner"))
x = torch.tensor([float(rank)])
dist.all_reduce(x, group=mesh.get_group("inner"))
assert x.item() == (1.0 if rank < 2 else 5.0)
dist.monitored_barrier()
store = dist.distributed_c10d._get_default_store()
if rank == 1:
    store.set("key", "value")
assert store.get("key") == b"value"
dist.barrier()
dist.destroy_process_group()
dist.init_process_group()
dist.barrier()
"""


def test_collectives_give_what_is_computed_by_hand(tmp_path):
    run = torchrun(tmp_path, BEGIN + COLLECTIVES + "print('done', rank)\n")
    assert (run.code, run.out) == (0, "done 0\n")
    assert "simstrategy" not in run.err
    assert run.report["finding"] is None
    assert [one["output"].endswith(f"done {rank}\n") for rank, one in enumerate(run.report["ranks"])] == [
        False,
        *[True] * 3,
    ]


def test_groups_asynchronous_calls_sends_meshes_and_the_store(tmp_path):
    run = torchrun(tmp_path, BEGIN + GROUPS + "print('done')\n")
    assert (run.code, run.out) == (0, "done\n"), run.err


TRAINING = """
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel
torch.manual_seed(0)
start = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)).double()
rows, wanted = torch.randn(16, 4).double(), torch.randn(16, 1).double()
def trained(model, rows, wanted, steps=3):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(rows), wanted).backward()
        optimizer.step()
    return torch.cat([whole(one).reshape(-1) for one in model.parameters()])
def whole(parameter):
    return (parameter.full_tensor() if isinstance(parameter, DTensor) else parameter).detach()
from torch.distributed.tensor import DTensor
import copy
alone = trained(copy.deepcopy(start), rows, wanted)
share = slice(4 * rank, 4 * rank + 4)
wrapped = DistributedDataParallel(copy.deepcopy(start), bucket_cap_mb=0.0001, find_unused_parameters=True)
assert torch.allclose(trained(wrapped, rows[share], wanted[share]), alone, rtol=1e-12)
hooked = DistributedDataParallel(copy.deepcopy(start))
hooked.register_comm_hook(
    None,
    lambda _, bucket: dist.all_reduce(bucket.buffer() / size, async_op=True)
    .get_future()
    .then(lambda future: future.value()[0]),
)
assert torch.allclose(trained(hooked, rows[share], wanted[share]), alone, rtol=1e-12)
from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook
squeezed = DistributedDataParallel(copy.deepcopy(start))
squeezed.register_comm_hook(powerSGD_hook.PowerSGDState(None, start_powerSGD_iter=2), powerSGD_hook.powerSGD_hook)
found = [torch.zeros_like(alone) for _ in range(size)]
dist.all_gather(found, trained(squeezed, rows[share], wanted[share], steps=5))
assert all(torch.equal(one, found[0]) for one in found)
table = DistributedDataParallel(nn.Embedding(6, 2, sparse=True))
table(torch.tensor([rank, rank + 1])).sum().backward()
assert table.module.weight.grad.to_dense()[:, 0].tolist() == [0.25, 0.5, 0.5, 0.5, 0.25, 0.0]
with wrapped.join():
    for _ in range(1 + rank):
        wrapped(rows[share]).sum().backward()
from torch.distributed.fsdp import fully_shard
sharded = copy.deepcopy(start)
fully_shard(sharded[0]), fully_shard(sharded)
assert torch.allclose(trained(sharded, rows[share], wanted[share]), alone, rtol=1e-12)
import torch.distributed.checkpoint as checkpoint
checkpoint.save({"model": sharded.state_dict()}, checkpoint_id="saved")
state = {"model": sharded.state_dict()}
checkpoint.load(state, checkpoint_id="saved")
from torch.distributed.optim import ZeroRedundancyOptimizer
model = DistributedDataParallel(copy.deepcopy(start))
optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.SGD, lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    nn.functional.mse_loss(model(rows[share]), wanted[share]).backward()
    optimizer.step()
flat = torch.cat([one.detach().reshape(-1) for one in model.parameters()])
assert torch.allclose(flat, alone, rtol=1e-12)
"""


def test_wrappers_train_as_one_process_with_the_whole_batch(tmp_path):
    """DDP with buckets, hooks that wait for other futures, sparse gradients and join; FSDP2, checkpoints, ZeRO."""
    run = torchrun(tmp_path, BEGIN + TRAINING + "print('done')\n")
    assert (run.code, run.out) == (0, "done\n"), run.err


@pytest.mark.parametrize(
    ("body", "code", "lines"),
    [
        (
            "if rank == 0:\n    dist.barrier()\nelse:\n    dist.broadcast(torch.zeros(128), 0)\n",
            1,
            ["rank 0: barrier at script.py:6", "rank 3: broadcast root 0 float32[128] at script.py:8"],
        ),
        (
            "if rank != 1:\n    dist.all_reduce(torch.ones(3))\n",
            1,
            ["rank 0: waits in all_reduce SUM float32[3] at script.py:6 for rank 1", "rank 1: has ended"],
        ),
        ("if rank == 1:\n    sys.exit(3)\ndist.barrier()\n", 3, ["rank 1: called sys.exit(3)"]),
        ("if rank == 2:\n    os.kill(os.getpid(), 9)\ndist.barrier()\n", 137, ["rank 2: was killed by signal 9"]),
        ("if rank == 2:\n    os.abort()\ndist.barrier()\n", 134, ["rank 2: was killed by signal 6"]),
        ("input()\n", 1, ["rank 0: EOFError(EOF when reading a line) raised at script.py:5. A simulated rank has no"]),
        ("dist.init_process_group('gloo')\n", 1, ["trying to initialize the default process group twice!"]),
        (
            "dist.all_reduce(torch.ones(2, device='meta'))\n",
            1,
            ["all_reduce at script.py:5 got a tensor on meta; simulated ranks have the CPU alone."],
        ),
        (
            "from torch.distributed.device_mesh import init_device_mesh\ninit_device_mesh('cpu', (4, 4))\n",
            1,
            ["Mesh should not be bigger than default world size 4", "raised at script.py:6"],
        ),
        (
            "dist.destroy_process_group()\ndist.init_process_group('nccl')\n",
            1,
            ["Simulated ranks have no GPU: pass the backend gloo, or none, to init_process_group, or the option"],
        ),
    ],
)
def test_a_wrong_script_ends_on_all_ranks_and_names_rank_line_and_cause(tmp_path, body, code, lines):
    run = torchrun(tmp_path, BEGIN + body)
    assert run.code == code, run.err
    for line in lines:
        assert line in run.err
    assert run.report["exit_code"] == code
    assert run.report["finding"]["text"] in run.err


@pytest.mark.parametrize(("body", "code"), [("os.kill(os.getpid(), 9)\n", 137), ("sys.exit(3)\n", 3)])
def test_a_command_that_users_start_leaves_no_process(tmp_path, body, code):
    run = torchrun(tmp_path, BEGIN + f"if rank == 1:\n    {body}dist.barrier()\n", ranks=2, is_forked=False)
    assert run.code == code, run.err
    assert not left_behind()


def left_behind() -> list[str]:
    """Returns the processes of forkservers and ranks that this test's command has left."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and entry.name != str(os.getpid()):
            try:
                status, command = (entry / "stat").read_text(), (entry / "cmdline").read_text()
            except OSError:
                continue
            orphaned = status.rpartition(")")[2].split()[1] == "1"
            if orphaned and "simstrategy_torch_distributed.rank" in command:
                found.append(entry.name)
    return found


def test_a_script_with_a_syntax_error_and_one_that_never_joins(tmp_path):
    run = torchrun(tmp_path, "def f(:\n", ranks=2)
    assert run.code == 1
    assert "SyntaxError: invalid syntax" in run.err
    run = torchrun(tmp_path, "import os\nif os.environ['RANK'] == '0':\n" + BEGIN.replace("\n", "\n    "), ranks=2)
    assert run.code == 1


PROCESS = """
import json
names = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK", "GROUP_WORLD_SIZE", "ROLE_RANK")
names += ("ROLE_WORLD_SIZE", "ROLE_NAME", "MASTER_ADDR", "TORCHELASTIC_RESTART_COUNT", "TORCHELASTIC_MAX_RESTARTS")
names += ("TORCHELASTIC_USE_AGENT_STORE", "OMP_NUM_THREADS")
print(json.dumps([{name: os.environ[name] for name in names}, sys.argv[1:], __name__, __file__, dist.get_backend()]))
sys.stdout.write("y" * 3_000_000 + "\\n")
import atexit, threading, weakref
atexit.register(lambda: print("exit function"))
weakref.finalize(PROCESS := type("Process", (), {}), print, "finalizer")
child = os.fork()
if not child:
    try:
        dist.barrier()
    except RuntimeError as error:
        os._exit(7 if "forked" in str(error) else 8)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
class Rows(torch.utils.data.Dataset):
    def __len__(self): return 4
    def __getitem__(self, index): return index
assert len(list(torch.utils.data.DataLoader(Rows(), num_workers=2))) == 4
threading.Thread(target=lambda: print("thread", dist.all_reduce(torch.ones(1)))).start()
"""


def test_a_rank_is_a_process_as_torchrun_starts_it(tmp_path):
    import json

    run = torchrun(
        tmp_path, BEGIN + PROCESS, "--standalone", "--rdzv-id", "7", ranks=2, arguments=("--lr", "0.1"), is_forked=False
    )
    assert run.code == 0, run.err
    assert "ignored, as all ranks are simulated here: 7" in run.err
    first, megabytes, *others = run.out.splitlines()
    assert json.loads(first) == [
        {
            "RANK": "0",
            "LOCAL_RANK": "0",
            "WORLD_SIZE": "2",
            "LOCAL_WORLD_SIZE": "2",
            "GROUP_RANK": "0",
            "GROUP_WORLD_SIZE": "1",
            "ROLE_RANK": "0",
            "ROLE_WORLD_SIZE": "2",
            "ROLE_NAME": "default",
            "MASTER_ADDR": "localhost",
            "TORCHELASTIC_RESTART_COUNT": "0",
            "TORCHELASTIC_MAX_RESTARTS": "0",
            "TORCHELASTIC_USE_AGENT_STORE": "True",
            "OMP_NUM_THREADS": "1",
        },
        ["--lr", "0.1"],
        "__main__",
        str(tmp_path / "script.py"),
        "gloo",
    ]
    assert len(megabytes) == 3_000_000
    assert sorted(others) == ["exit function", "finalizer", "thread None"]


@pytest.mark.parametrize(
    ("given", "device", "found"), [(None, "cpu", "true"), ("false", "cpu", "false"), (None, "cpu-for-cuda", "None")]
)
def test_ranks_of_accelerate_have_cpus_where_nothing_else_is_set(tmp_path, monkeypatch, given, device, found):
    """Clause: G-122."""
    monkeypatch.delenv("ACCELERATE_USE_CPU", raising=False)
    if given is not None:
        monkeypatch.setenv("ACCELERATE_USE_CPU", given)
    text = "import os\nprint(os.environ.get('ACCELERATE_USE_CPU'))\n"
    run = torchrun(tmp_path, text, "--device", device, "--tee", "3", ranks=2, is_forked=False)
    assert run.code == 0, run.err
    assert run.out.splitlines() == [f"[rank{rank}]: {found}" for rank in range(2)]


ROUNDED = BEGIN + "x = torch.full((4,), [1e8, 1.0, 1.0, -1e8][rank])\ndist.all_reduce(x)\nprint(x.tolist())\n"


def test_sums_are_rounded_in_the_order_that_is_asked_for_and_calls_are_recorded(tmp_path):
    found = {}
    for order in ("linear", "ring"):
        run = torchrun(tmp_path, ROUNDED, "--order", order, "--record", str(tmp_path / order))
        found[order] = run.out
    assert found == {"linear": "[0.0, 0.0, 0.0, 0.0]\n", "ring": "[0.0, 1.0, 2.0, 0.0]\n"}
    events = Trace.read(tmp_path / "ring")
    assert [(one.replica, one.kind, one.op, one.site) for one in events] == [
        *((rank, "init_process_group", None, "script.py:3") for rank in range(4)),
        *((rank, "all_reduce", "SUM", "script.py:6") for rank in range(4)),
    ]
    assert (tmp_path / "ring").read_bytes() == (tmp_path / "linear").read_bytes()


def test_output_of_all_ranks_is_shown_with_tee_and_a_busy_rank_with_its_stack(tmp_path):
    text = BEGIN + "import time\nprint('here')\nif rank == 1:\n    time.sleep(3)\ndist.barrier()\n"
    run = torchrun(tmp_path, text, "--tee", "3", "--busy-seconds", "1", ranks=2)
    assert run.code == 0
    assert sorted(run.out.splitlines()) == ["[rank0]: here", "[rank1]: here"]
    assert "rank 1 has neither called nor ended for 1 s while others wait for it" in run.err
    assert 'script.py", line 8' in run.err


ASYNCHRONOUS = """
import warnings
x = torch.ones(2)
work = dist.all_reduce(x, async_op=True)
y = torch.ones(3, dtype=torch.int32)
other = dist.broadcast(y, 0, async_op=True)
early = [x.tolist(), y.tolist()]
work.wait()
other.wait()
if rank == 1:
    print(early, x.tolist(), y.tolist(), file=sys.stderr)
done = dist.all_reduce(torch.ones(1), async_op=True)
while not done.is_completed():
    pass
dist.barrier(async_op=True)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
with model.join(divide_by_initial_world_size=False):
    for _ in range(1 + rank):
        model(torch.ones(1, 2)).sum().backward()
"""


def test_an_asynchronous_result_is_none_until_it_is_waited_for(tmp_path):
    """Also where C++ waits for it, and nobody in Python has the work any more."""
    one = torchrun(tmp_path, BEGIN + ASYNCHRONOUS, "--tee", "3", "--not", "late", ranks=2)
    assert one.code == 0, one.err
    assert f"[rank1]: [[nan, nan], {[-(2**31)] * 3}] [2.0, 2.0] [1, 1, 1]" in one.err


def test_a_result_that_is_never_used_nor_waited_for_is_a_remark(tmp_path):
    one = torchrun(tmp_path, BEGIN + "dist.all_reduce(torch.ones(2), async_op=True)\ndist.barrier()\n", ranks=2)
    text = "the result of all_reduce SUM float32[2] at script.py:5 is never waited for on ranks 0, 1"
    assert one.code == 0
    assert [remark.startswith(text) for remark in one.report["remarks"]] == [True]
    assert text in one.err
