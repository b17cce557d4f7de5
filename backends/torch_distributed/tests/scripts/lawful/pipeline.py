# ranks: 3
"""A pipeline of three stages: activations forward, gradients back, four micro-batches, each stage with its optimizer."""

import torch
import torch.distributed as dist
from shown import rounded, show

MICRO_BATCHES = 4
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(rank)
stage = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh()) if rank < size - 1 else torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(stage.parameters(), lr=0.1)
data = torch.randn(MICRO_BATCHES, 2, 4, generator=torch.Generator().manual_seed(3))
target = data.sum(-1, keepdim=True)


def forward(number):
    """Returns what entered the stage, and what it made of it."""
    if rank == 0:
        entered = data[number]
    else:
        entered = torch.empty(2, 4)
        dist.recv(entered, src=rank - 1)
        entered.requires_grad_()
    made = stage(entered)
    if rank < size - 1:
        dist.send(made.detach(), dst=rank + 1)
    return entered, made


def backward(number, entered, made):
    """Propagates a gradient to the stage before, and returns the loss in the last one."""
    if rank == size - 1:
        loss = torch.nn.functional.mse_loss(made, target[number]) / MICRO_BATCHES
        loss.backward()
    else:
        loss, gradient = torch.tensor(0.0), torch.empty_like(made)
        dist.recv(gradient, src=rank + 1)
        made.backward(gradient)
    if rank:
        dist.send(entered.grad, dst=rank - 1)
    return loss.item()


for step in range(3):
    optimizer.zero_grad()
    kept = [forward(number) for number in range(MICRO_BATCHES)]
    losses = [backward(number, *each) for number, each in enumerate(kept)]
    optimizer.step()
    show(f"step {step}", rounded(sum(losses)))
show("weights", rounded([one.sum() for one in stage.parameters()]))
dist.barrier()
dist.destroy_process_group()
