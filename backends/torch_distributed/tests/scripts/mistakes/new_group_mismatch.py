# ranks: 3
"""Rank 1 makes the group with another list of ranks."""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
if rank == 0:
    print("started", flush=True)
members = [0, 1] if rank != 1 else [0, 1, 2]
group = dist.new_group(members)  # here 0
total = torch.tensor([1.0])
if rank in members:
    dist.all_reduce(total, group=group)
print("result", total.item())
dist.destroy_process_group()
