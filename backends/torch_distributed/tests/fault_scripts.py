"""Scripts in which the law of faults plants faults, and what it has to state of each.  It runs nothing."""

from typing import NamedTuple

BEGIN = """\
import io, os, sys, time
import torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
model = torch.nn.Linear(2, 1)
rows = torch.arange(12.0).reshape(6, 2)[rank * 3 : rank * 3 + 3] / 10
"""
FIRST = BEGIN.count("\n") + 1
"""The line after these."""
TRAIN = """\
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(2):
    optimizer.zero_grad()
    model(rows).square().mean().backward()
"""


class Faulty(NamedTuple):
    """text: of the script.  kinds: of faults that are planted.

    wrong: for each kind that breaks the law a part of its problem; notes: parts of what is remarked.
    """

    text: str
    kinds: tuple[str, ...]
    wrong: dict[str, str]
    notes: tuple[str, ...] = ()


ALL = ("exception", "inf", "input", "exit", "kill", "stop")

SCRIPTS = {
    "ddp_that_saves_in_one_step": Faulty(
        BEGIN
        + "model = DistributedDataParallel(model)\n"
        + TRAIN
        + "    optimizer.step()\n    if rank == 0:\n        torch.save(model.state_dict(), 'model.part')\n"
        "        os.replace('model.part', 'model.pt')\n    dist.barrier()\n",
        ALL,
        {},
    ),
    "gradients_by_hand": Faulty(
        BEGIN
        + TRAIN
        + "    for one in model.parameters():\n        dist.all_reduce(one.grad)\n        one.grad /= size\n"
        "    if all(bool(one.grad.isfinite().all()) for one in model.parameters()):\n        optimizer.step()\n",
        ALL,
        {},
    ),
    "groups_and_sends": Faulty(
        BEGIN + "group = dist.new_group([0, 1])\nx = torch.ones(2)\ndist.all_reduce(x, group=group)\n"
        "dist.send(x, 1) if rank == 0 else dist.recv(x, 0)\n"
        "works = [dist.all_gather([x, x.clone()], x, async_op=True)]\n"
        "[one.wait() for one in works]\ndist.barrier()\n",
        ("exception", "exit", "kill", "stop"),
        {},
    ),
    "call_is_made_again": Faulty(
        BEGIN + "for attempt in range(2):\n    try:\n        dist.all_reduce(rows)\n        break\n"
        "    except RuntimeError:\n        if attempt:\n            raise\n"
        + TRAIN.replace("range(2)", "range(1)")
        + "    optimizer.step()\n",
        ("exception", "kill"),
        {},
    ),
    "handled_and_ended_with_3": Faulty(
        BEGIN + "try:\n    for _ in range(3):\n        dist.all_reduce(rows)\n"
        "except Exception:\n    print('lost a rank', flush=True)\n    sys.exit(3)\n",
        ("exception", "kill", "stop"),
        {},
    ),
    "swallowed_on_all_ranks": Faulty(
        BEGIN + "def finish():\n    try:\n        dist.barrier()\n    except Exception:\n        pass\nfinish()\n",
        ("exception", "exit", "kill"),
        {
            "exception": f"the exception is caught at script.py:{FIRST + 2}, and the replica goes on without the call",
            "exit": f"every replica ends with exit code 0 although replica 0 failed: replica 1 catches the error at "
            f"script.py:{FIRST + 2}",
        },
        notes=("With a dead replica, number 0, replica 1 catches the error at script.py:",),
    ),
    "skips_a_batch_with_an_error": Faulty(
        BEGIN
        + "for step in range(3):\n    try:\n        dist.all_reduce(rows)\n    except Exception:\n        continue\n",
        ("exception",),
        {"exception": f"the exception is caught at script.py:{FIRST + 2}"},
    ),
    "scale_of_each_rank": Faulty(
        BEGIN
        + "scale = 4.0\n"
        + TRAIN
        + "    if not all(bool(one.grad.isfinite().all()) for one in model.parameters()):\n        scale /= 2\n"
        "        optimizer.zero_grad(set_to_none=False)\n        [one.grad.zero_() for one in model.parameters()]\n"
        "    for one in model.parameters():\n        one.grad *= 4.0\n        dist.all_reduce(one.grad)\n"
        "        one.grad /= size * scale\n    optimizer.step()\n",
        ("input",),
        {"input": "what the replicas decide by a value that is not finite is not reduced: parameter 'weight'"},
    ),
    "skips_on_one_rank": Faulty(
        BEGIN + TRAIN + "    if all(bool(one.grad.isfinite().all()) for one in model.parameters()):\n"
        "        for one in model.parameters():\n            dist.all_reduce(one.grad)\n        optimizer.step()\n"
        "dist.barrier()\n",
        ("input",),
        {"input": "only some replicas skip a step where a value of one is not finite"},
    ),
    "never_ends_after_a_loss": Faulty(
        BEGIN + "while True:\n    try:\n        dist.barrier()\n        break\n"
        "    except RuntimeError:\n        time.sleep(0.01)\n",
        ("kill",),
        {"kill": "replica 1 does not end after the failure"},
    ),
    "saved_in_two_halves": Faulty(
        BEGIN + "if os.path.exists('state.pt'):\n    torch.load('state.pt')\ndist.barrier()\n"
        "data = io.BytesIO()\ntorch.save(model.state_dict(), data)\nhalf = len(data.getvalue()) // 2\n"
        "if rank == 0:\n    with open('state.pt', 'wb') as stream:\n        stream.write(data.getvalue()[:half])\n"
        "dist.barrier()\nif rank == 0:\n    with open('state.pt', 'ab') as stream:\n"
        "        stream.write(data.getvalue()[half:])\ndist.barrier()\n",
        ("kill",),
        {"kill": "the next run in the same folder fails, of which the fault has left state.pt"},
        notes=("After a dead replica the script leaves state.pt, which is an archive without its end.",),
    ),
    "part_left_behind": Faulty(
        BEGIN + "if rank == 0:\n    torch.save(model.state_dict(), 'model.part')\ndist.barrier()\n"
        "if rank == 0:\n    os.replace('model.part', 'model.pt')\ndist.barrier()\n",
        ("kill",),
        {},
        notes=("After a dead replica the script leaves model.part, which no run without a fault leaves.",),
    ),
}
