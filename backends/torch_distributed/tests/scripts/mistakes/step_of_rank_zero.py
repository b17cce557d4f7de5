# ranks: 2
"""Rank 0 alone makes the optimizer's step, as if the wrapper sent the parameters to the others."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
rank = dist.get_rank()
if rank == 0:
    print("started", flush=True)
torch.manual_seed(0)
model = DDP(torch.nn.Linear(3, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    optimizer.zero_grad()
    model(torch.full((2, 3), 1.0 + rank)).mean().backward()
    if rank == 0:
        optimizer.step()  # here 0
same = [torch.empty(1) for _ in range(2)]
dist.all_gather(same, model.module.bias.detach())
if rank == 0:
    print("result", bool(same[0] == same[1]))
dist.destroy_process_group()
