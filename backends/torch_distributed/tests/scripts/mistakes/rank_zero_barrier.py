# ranks: 3
"""Rank 0 alone prepares data, and the barrier stands in its branch."""

import os

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
if dist.get_rank() == 0:
    print("started", flush=True)
torch.manual_seed(0)
weights = torch.ones(8)
if dist.get_rank() == 0 and not os.path.exists("data"):
    os.mkdir("data")
    dist.barrier()  # here 0
dist.broadcast(weights, src=0)  # here 1
print("result", weights.sum().item())
dist.destroy_process_group()
