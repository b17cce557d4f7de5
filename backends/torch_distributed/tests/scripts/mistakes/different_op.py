# ranks: 2
"""Rank 0 takes the largest length, rank 1 the sum."""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
if rank == 0:
    print("started", flush=True)
longest = torch.tensor([5.0 + rank, 2.0])
if rank == 0:
    dist.all_reduce(longest, op=dist.ReduceOp.MAX)  # here 0
else:
    dist.all_reduce(longest)  # here 1
print("result", longest.tolist())
dist.destroy_process_group()
