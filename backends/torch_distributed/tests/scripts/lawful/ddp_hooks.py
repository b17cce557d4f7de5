# ranks: 2
"""Communication hooks: the ready ones, one of the script's own, and a hook on gradients by hand."""

import torch
import torch.distributed as dist
from shown import rounded, show
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
from torch.nn.parallel import DistributedDataParallel as DDP


def halves(state, bucket):
    """Sends half of what a mean would, doubled afterwards."""
    state.append(bucket.index())
    buffer = bucket.buffer() / (2 * dist.get_world_size())
    future = dist.all_reduce(buffer, async_op=True).get_future()
    return future.then(lambda done: done.value()[0] * 2)


def register(model, name):
    """Returns what a hook keeps of its buckets."""
    seen = []
    if name == "halves":
        model.register_comm_hook(seen, halves)
    elif name == "power":
        state = powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=1, start_powerSGD_iter=2)
        model.register_comm_hook(state, powerSGD_hook.powerSGD_hook)
    elif name:
        model.register_comm_hook(None, getattr(default_hooks, name))
    return seen


dist.init_process_group("gloo")
rank = dist.get_rank()
for name in ("", "allreduce_hook", "fp16_compress_hook", "halves", "power"):
    torch.manual_seed(5)
    model = DDP(torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 1)), bucket_cap_mb=0.00005)
    seen = register(model, name)
    for step in range(3):
        model.zero_grad()
        model(torch.full((2, 4), 0.25 * (rank + 1) + step)).sum().backward()
    show(name or "no hook", f"{rounded([one.grad.sum() for one in model.parameters()], 2)} {bool(seen)}")

plain = torch.nn.Linear(3, 1)
dist.broadcast(plain.weight.data, src=0)
plain.weight.register_post_accumulate_grad_hook(lambda weight: dist.all_reduce(weight.grad))
plain(torch.full((1, 3), 1.0 + rank)).sum().backward()
show("hook on a parameter", plain.weight.grad.tolist())
dist.destroy_process_group()
