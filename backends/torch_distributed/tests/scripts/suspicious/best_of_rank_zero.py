# ranks: 2
"""Rank 0 keeps the best state, puts it back when training has ended and evaluates on all rows; shards are padded."""

import copy

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)
data = TensorDataset(torch.arange(11.0)[:, None])
sampler = DistributedSampler(data, shuffle=False)
model = DDP(torch.nn.Linear(1, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
best = None
for epoch in range(2):
    for (rows,) in DataLoader(data, batch_size=2, sampler=sampler):
        optimizer.zero_grad()
        (model(rows) - 2 * rows).pow(2).mean().backward()
        optimizer.step()
    if rank == 0 and epoch == 0:
        best = copy.deepcopy(model.module.state_dict())
dist.barrier()
if rank == 0:
    model.module.load_state_dict(best)
    with torch.no_grad():
        total = sum((model.module(rows) - 2 * rows).pow(2).sum() for (rows,) in DataLoader(data, batch_size=4))
    print(round(total.item(), 3))
dist.destroy_process_group()
