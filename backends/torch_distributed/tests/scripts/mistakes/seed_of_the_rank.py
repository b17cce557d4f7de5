# ranks: 2
"""Each rank shuffles by its own seed, so that the shares are cut from different orders."""

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("gloo")
rank = dist.get_rank()
if rank == 0:
    print("started", flush=True)
data = TensorDataset(torch.arange(20.0))
sampler = DistributedSampler(data, seed=rank)
loader = DataLoader(data, batch_size=5, sampler=sampler)
total = torch.zeros(1)
for epoch in range(2):
    sampler.set_epoch(epoch)
    for (rows,) in loader:  # here 0
        total += rows.sum()
dist.all_reduce(total)
if rank == 0:
    print("result", total.item())
dist.destroy_process_group()
