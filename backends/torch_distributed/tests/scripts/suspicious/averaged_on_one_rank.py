# ranks: 2
"""Rank 0 alone keeps averaged weights and evaluates the inner model between steps, with its own optimizer for a probe."""

import copy

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)
model = DDP(torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.BatchNorm1d(3), torch.nn.Linear(3, 1)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
average = copy.deepcopy(model.module) if rank == 0 else None
probe = torch.nn.Linear(1, 1)
probe_optimizer = torch.optim.SGD(probe.parameters(), lr=0.01)
scores = []
for step in range(3):
    optimizer.zero_grad()
    model(torch.randn(4, 3, generator=torch.Generator().manual_seed(step * 2 + rank))).pow(2).mean().backward()
    optimizer.step()
    if rank == 0:
        with torch.no_grad():
            for kept, new in zip(average.parameters(), model.module.parameters(), strict=True):
                kept.lerp_(new, 0.5)
        average.eval()
        value = average(torch.ones(2, 3)).mean().detach()
        for _ in range(2):
            probe_optimizer.zero_grad()
            (probe(value.reshape(1, 1)) - 1).pow(2).sum().backward()
            probe_optimizer.step()
        scores.append(round(value.item(), 4))
dist.barrier()
if rank == 0:
    print(scores)
dist.destroy_process_group()
