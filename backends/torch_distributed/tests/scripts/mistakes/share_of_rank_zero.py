# ranks: 3
"""Every rank reads the share of rank 0: the sampler was written for one process, with its numbers in it."""

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("gloo")
if dist.get_rank() == 0:
    print("started", flush=True)
data = TensorDataset(torch.arange(24.0))
sampler = DistributedSampler(data, num_replicas=3, rank=0)
total = torch.zeros(1)
for (rows,) in DataLoader(data, batch_size=4, sampler=sampler):  # here 0
    total += rows.sum()
dist.all_reduce(total)
if dist.get_rank() == 0:
    print("result", total.item())
dist.destroy_process_group()
