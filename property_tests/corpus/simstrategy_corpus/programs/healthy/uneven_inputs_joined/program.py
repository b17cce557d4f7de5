"""Uneven inputs inside model.join()."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(48)
model = DistributedDataParallel(torch.nn.Linear(3, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
done = 0
with model.join():
    for batch in torch.ones(3 + rank, 2, 3):
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()
        done += 1
if rank == 0:
    print("result batches", done)
dist.destroy_process_group()
