# ranks: 2
"""Gradients are added over three micro-batches with no_sync, clipped, and compared with one large batch."""

import contextlib

import torch
import torch.distributed as dist
from shown import rounded, show
from torch.nn.parallel import DistributedDataParallel as DDP

ROWS, MICRO, STEPS = 6, 3, 3


def main():
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    random = torch.Generator().manual_seed(0)
    inputs = torch.randn(STEPS, size, MICRO, ROWS, 5, generator=random)
    targets = inputs.sum(-1, keepdim=True).sin()
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    torch.manual_seed(1)
    alone = torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    ddp = DDP(model)
    optimizer = torch.optim.SGD(ddp.parameters(), lr=0.2, momentum=0.9)
    reference = torch.optim.SGD(alone.parameters(), lr=0.2, momentum=0.9)
    for step in range(STEPS):
        optimizer.zero_grad()
        for micro in range(MICRO):
            is_last = micro == MICRO - 1
            with contextlib.nullcontext() if is_last else ddp.no_sync():
                loss = (ddp(inputs[step, rank, micro]) - targets[step, rank, micro]).pow(2).mean() / MICRO
                loss.backward()
            if not is_last:
                show(f"step {step}, gradient after {micro}", rounded(model[0].weight.grad.sum()))
        norm = torch.nn.utils.clip_grad_norm_(ddp.parameters(), 0.5)
        optimizer.step()
        reference.zero_grad()
        (alone(inputs[step].reshape(-1, 5)) - targets[step].reshape(-1, 1)).pow(2).mean().backward()
        torch.nn.utils.clip_grad_norm_(alone.parameters(), 0.5)
        reference.step()
        show(f"step {step}, norm", rounded(norm))
    pairs = zip(model.parameters(), alone.parameters(), strict=True)
    show("as in one process", all(torch.allclose(one, other, atol=1e-6) for one, other in pairs))
    dist.destroy_process_group()


main()
