# ranks: 3
"""Ranks have different numbers of batches, and join answers for those that are done."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)
model = DistributedDataParallel(
    torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 1))
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
steps = 0
for epoch in range(2):
    with model.join():
        for batch in torch.randn(1 + 2 * rank, 4, 3, generator=torch.Generator().manual_seed(rank)):
            optimizer.zero_grad()
            model(batch).pow(2).mean().backward()
            optimizer.step()
            steps += 1
counts = [None] * 3
dist.all_gather_object(counts, (steps, round(model.module[0].weight.sum().item(), 4)))
if rank == 0:
    print(counts)
dist.destroy_process_group()
