# ranks: 2
"""Gradients are added over micro-batches without communication, and the last one is not left out of that."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
rank = dist.get_rank()
if rank == 0:
    print("started", flush=True)
torch.manual_seed(0)
model = DDP(torch.nn.Linear(2, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(2):
    optimizer.zero_grad()
    with model.no_sync():
        for micro in range(2):
            model(torch.full((1, 2), 1.0 + rank + micro)).sum().backward()
    optimizer.step()  # here 0
weights = [torch.empty(1, 2) for _ in range(2)]
dist.all_gather(weights, model.module.weight.detach())
if rank == 0:
    print("result", torch.equal(*weights))
dist.destroy_process_group()
