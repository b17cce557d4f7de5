"""Scripts that draw at random, and what the law of random draws has to state of each.  It runs nothing."""

from typing import NamedTuple

from on_server import BEGIN

MODEL = """\
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset
import random
import numpy as np
def trained(model, rows, steps=3, hand=False, flat=False):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(steps):
        optimizer.zero_grad()
        functional.mse_loss(model(rows), rows.sum(1, keepdim=True)).backward()
        if flat:
            whole = torch.cat([one.grad.flatten() for one in model.parameters()])
            dist.all_reduce(whole)
            for one in model.parameters():
                one.grad.copy_(whole[: one.numel()].view_as(one) / size)
                whole = whole[one.numel() :]
        elif hand:
            for one in model.parameters():
                dist.all_reduce(one.grad)
                one.grad /= size
        optimizer.step()
rows = torch.arange(12.0).reshape(6, 2)[rank * 3 : rank * 3 + 3] / 10
"""
FIRST = (BEGIN + MODEL).count("\n") + 1
"""The line after these."""
FORWARD = next(line for line, text in enumerate((BEGIN + MODEL).splitlines(), 1) if "mse_loss" in text)


class Drawing(NamedTuple):
    """text: of the script.  finding: parts of the finding of the law; () for none. remarks: a part of each remark."""

    text: str
    finding: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


def _script(body: str, *finding: str, remarks: tuple[str, ...] = ()) -> Drawing:
    return Drawing(f"{BEGIN}{MODEL}{body}\n", finding, remarks)


_APART = "Drawn unequally on the ranks, never made equal, and trained with combined gradients"
_SHARES = "the shares of DistributedSampler are cut from different draws of the order"
_SAME = "all ranks draw the same numbers"
_LOADER = """
class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 8
    def __getitem__(self, number):
        return number + random.random()
def seed_worker(worker):
    random.seed(SEED)
list(DataLoader(Rows(), num_workers=2, worker_init_fn=seed_worker))
dist.barrier()
"""

WRONG = {
    "weights_with_other_seeds": _script(
        "torch.manual_seed(rank)\nmodel = torch.nn.Linear(2, 1)\ntrained(model, rows, hand=True)",
        _APART,
        "2 parameters",
        "rank 1: parameter 0 begins with [",
        f"drawn by kaiming_uniform_ at script.py:{FIRST + 1}, seeded with 1 at script.py:{FIRST}, before its step 1",
    ),
    "weights_in_one_sum": _script(
        "torch.manual_seed(7 * rank)\nmodel = torch.nn.Linear(2, 1)\ntrained(model, rows, flat=True)",
        _APART,
        "2 parameters",
        f"seeded with 7 at script.py:{FIRST}",
    ),
    "weights_of_numpy": _script(
        "torch.manual_seed(0)\nnp.random.seed(rank)\nmodel = torch.nn.Linear(2, 1)\n"
        "model.weight.data = torch.from_numpy(np.random.randn(1, 2)).float()\ntrained(model, rows, hand=True)",
        _APART,
        "1 parameter (parameter 0)",
        f"with numpy.random seeded with 1 at script.py:{FIRST + 1}",
    ),
    "weights_that_nobody_seeds": _script(
        "model = torch.nn.Linear(2, 1)\ntrained(model, rows, hand=True)",
        _APART,
        "2 parameters",
        f"drawn by kaiming_uniform_ at script.py:{FIRST}",
    ),
    "one_layer_of_each_rank": _script(
        "torch.manual_seed(0)\nfirst = torch.nn.Linear(2, 3)\ntorch.manual_seed(rank)\n"
        "trained(torch.nn.Sequential(first, torch.nn.Linear(3, 1)), rows, hand=True)",
        _APART,
        "2 parameters (parameter 2, parameter 3)",
        f"at script.py:{FIRST + 3}",
    ),
    "order_of_each_rank": _script(
        "data = TensorDataset(torch.arange(20.0))\nsampler = DistributedSampler(data, seed=rank)\n"
        "for number, _ in enumerate(DataLoader(data, batch_size=2, sampler=sampler)):\n    if number == 2: break\n"
        "dist.barrier()",
        _SHARES,
        f"rank 1: DistributedSampler, share 1 of 2, seed 1, epoch 0, at script.py:{FIRST + 2}",
    ),
    "epoch_of_each_rank": _script(
        "data = TensorDataset(torch.arange(20.0))\nsampler = DistributedSampler(data)\n"
        "for epoch in range(2):\n    sampler.set_epoch(epoch + rank * (epoch > 0))\n"
        "    for _ in DataLoader(data, batch_size=5, sampler=sampler): pass\ndist.barrier()",
        _SHARES,
        f"In pass 2 at script.py:{FIRST + 4}",
        "rank 1: DistributedSampler, share 1 of 2, seed 0, epoch 2",
    ),
    "seed_that_is_drawn": _script(
        "random.seed(100 + rank)\ndata = TensorDataset(torch.arange(20.0))\n"
        "sampler = DistributedSampler(data, seed=random.randrange(1000))\n"
        "for _ in DataLoader(data, batch_size=5, sampler=sampler): pass\ndist.barrier()",
        _SHARES,
        "rank 0: DistributedSampler, share 0 of 2, seed",
    ),
}
"""What no purpose explains: each is a finding."""

SUSPICIOUS = {
    "dropout_alike": _script(
        "torch.manual_seed(0)\n"
        "net = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Dropout(), torch.nn.Linear(8, 1))\n"
        "trained(DistributedDataParallel(net), rows)",
        remarks=(f"{_SAME} in dropout at script.py:{FORWARD}, seeded with 0 at script.py:{FIRST}, in each of 3 calls",),
    ),
    "noise_of_numpy_alike": _script(
        "np.random.seed(3)\nmodel = DistributedDataParallel(torch.nn.Linear(2, 1))\n"
        "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\nfor _ in range(3):\n"
        "    model(rows + float(np.random.rand())).sum().backward()\n    optimizer.step()",
        remarks=(f"{_SAME} from numpy.random, seeded with 3 at script.py:{FIRST}, before 2 of 3 steps",),
    ),
    "noise_of_each_sum_alike": _script(
        "torch.manual_seed(8)\nfor _ in range(3):\n    noise = torch.empty(2).normal_()\n"
        "    dist.all_reduce(total := noise.square().sum())",
        remarks=(
            f"{_SAME} in normal_ at script.py:{FIRST + 2}, seeded with 8 at script.py:{FIRST}, in each of 3 calls",
        ),
    ),
    "noise_repeated": _script(
        "model = DistributedDataParallel(torch.nn.Linear(2, 1))\n"
        "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\nfor _ in range(3):\n    torch.manual_seed(rank)\n"
        "    model(rows + torch.randn(3, 2)).sum().backward()\n    optimizer.step()",
        remarks=(f"randn at script.py:{FIRST + 4}, seeded with 0 at script.py:{FIRST + 3} draws the same numbers in",),
    ),
    "workers_alike_on_all_ranks": _script(
        _LOADER.replace("SEED", "42 + worker"),
        remarks=(
            "workers of DataLoaders draw the same numbers from random on all ranks, seeded with 42, 43 at script.py:",
        ),
    ),
    "workers_all_alike": _script(
        _LOADER.replace("SEED", "9 + 0 * worker + rank"),
        remarks=("all 2 workers of a DataLoader draw the same numbers from random, seeded with 9 at script.py:",),
    ),
}
"""What may be meant: each is a remark."""

LAWFUL = {
    "seeds_per_rank_after_the_model": _script(
        "torch.manual_seed(0)\n"
        "net = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Dropout(), torch.nn.Linear(8, 1))\n"
        "model = DistributedDataParallel(net)\ntorch.manual_seed(100 + rank)\ntrained(model, rows)"
    ),
    "weights_of_rank_0": _script(
        "torch.manual_seed(rank)\nmodel = torch.nn.Linear(2, 1)\nfor one in model.parameters():\n"
        "    dist.broadcast(one.data, src=0)\ntrained(model, rows, hand=True)"
    ),
    "weights_of_rank_0_by_ddp": _script(
        "torch.manual_seed(rank)\ntrained(DistributedDataParallel(torch.nn.Linear(2, 1)), rows)"
    ),
    "one_model_for_each_rank": _script(
        "torch.manual_seed(rank)\nmodel = torch.nn.Linear(2, 1)\ntrained(model, rows)\n"
        "losses = model(rows).sum().detach()\ndist.all_reduce(losses)"
    ),
    "weights_averaged_in_the_end": _script(
        "torch.manual_seed(rank)\nmodel = torch.nn.Linear(2, 1)\ntrained(model, rows, hand=True)\n"
        "for one in model.parameters():\n    dist.all_reduce(one.data)\n    one.data /= size"
    ),
    "weights_loaded_from_rank_0": _script(
        "torch.manual_seed(rank)\nmodel = torch.nn.Linear(2, 1)\nkept = [model.state_dict()]\n"
        "dist.broadcast_object_list(kept, src=0)\nmodel.load_state_dict(kept[0])\ntrained(model, rows, hand=True)"
    ),
    "shards_of_other_values": _script(
        "torch.manual_seed(rank)\nshard = torch.nn.Linear(2, 1, bias=False)\n"
        "optimizer = torch.optim.SGD(shard.parameters(), lr=0.1)\nfor _ in range(3):\n    optimizer.zero_grad()\n"
        "    total = torch.distributed.nn.functional.all_reduce(shard(rows))\n    total.pow(2).sum().backward()\n"
        "    norm = shard.weight.grad.norm()\n    dist.all_reduce(norm)\n    optimizer.step()"
    ),
    "one_order_for_all": _script(
        "data = TensorDataset(torch.arange(20.0))\nsampler = DistributedSampler(data, seed=5)\nfor epoch in range(2):\n"
        "    sampler.set_epoch(epoch)\n    for _ in DataLoader(data, batch_size=5, sampler=sampler): pass\n"
        "dist.barrier()"
    ),
    "order_of_each_rank_of_its_own_rows": _script(
        "data = TensorDataset(torch.arange(10.0) + 10 * rank)\n"
        "sampler = DistributedSampler(data, num_replicas=1, rank=0, seed=rank)\n"
        "for _ in DataLoader(data, batch_size=5, sampler=sampler): pass\ndist.barrier()"
    ),
    "models_made_again": _script(
        "for _ in range(3):\n    torch.manual_seed(0)\n"
        "    trained(DistributedDataParallel(torch.nn.Linear(2, 1)), rows)"
    ),
    "same_data_on_all_ranks_in_parts": _script(
        "torch.manual_seed(4)\nwhole = torch.randn(6, 2)\n"
        "trained(DistributedDataParallel(torch.nn.Linear(2, 1)), whole[rank * 3 : rank * 3 + 3])"
    ),
    "draws_in_evaluation_of_one_rank": _script(
        "torch.manual_seed(0)\n"
        "net = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.Dropout(), torch.nn.Linear(4, 1))\n"
        "trained(DistributedDataParallel(net.eval()), rows)\nif rank == 0:\n    torch.randn(3)\ndist.barrier()"
    ),
    "workers_seeded_by_rank": _script(_LOADER.replace("SEED", "42 + worker + 2 * rank")),
    "noise_recomputed": _script(
        "from torch.utils.checkpoint import checkpoint\ntorch.manual_seed(50 + rank)\n"
        "net = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.Dropout(), torch.nn.Linear(4, 1))\n"
        "for one in net.parameters():\n    dist.broadcast(one.data, src=0)\n"
        "optimizer = torch.optim.SGD(net.parameters(), lr=0.1)\nfor _ in range(3):\n    optimizer.zero_grad()\n"
        "    checkpoint(net, rows, use_reentrant=False).pow(2).mean().backward()\n"
        "    for one in net.parameters():\n        dist.all_reduce(one.grad)\n    optimizer.step()"
    ),
}
"""What is right: no finding, and no remark of this law."""
