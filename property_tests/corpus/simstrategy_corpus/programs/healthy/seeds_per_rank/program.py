"""Noise of each rank, made to have no sum."""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(100 + rank)
noise = torch.randn(6)
noise -= noise.mean()
weight = torch.tensor(2.0) + noise.mean()
dist.broadcast(weight, src=0)
dist.all_reduce(weight, op=dist.ReduceOp.AVG if dist.get_backend() == "nccl" else dist.ReduceOp.MAX)
print(f"rank {rank} noise", *noise.tolist(), flush=True)
if rank == 0:
    print("result weight", round(weight.item(), 4))
dist.destroy_process_group()
