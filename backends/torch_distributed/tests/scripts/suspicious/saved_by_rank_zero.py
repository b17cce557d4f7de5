# ranks: 2
"""Rank 0 alone saves after each epoch; the others wait at a barrier that stands outside the branch."""

import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


def save(model, optimizer, epoch):
    state = {"model": model.module.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}
    torch.save(state, f"checkpoint-{epoch}.pt.part")
    os.replace(f"checkpoint-{epoch}.pt.part", f"checkpoint-{epoch}.pt")


dist.init_process_group("gloo")
rank = dist.get_rank()
model = DDP(torch.nn.Linear(2, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for epoch in range(2):
    optimizer.zero_grad()
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    if rank == 0:
        save(model, optimizer, epoch)
        print("saved", sorted(os.listdir()), flush=True)
    dist.barrier()
    state = torch.load(f"checkpoint-{epoch}.pt", weights_only=True)
    assert state["epoch"] == epoch
    assert torch.equal(state["model"]["weight"], model.module.weight)
if rank == 0:
    print("loaded by all")
dist.barrier()
dist.destroy_process_group()
