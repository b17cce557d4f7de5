# ranks: 3
"""A rank gathers in a group in which it is not: PyTorch warns, and its list stays as it was."""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
if rank == 0:
    print("started", flush=True)
trainers = dist.new_group([0, 1])
gradient = torch.tensor([1.0 + rank])
gathered = [torch.zeros(1), torch.zeros(1)]
dist.all_gather(gathered, gradient, group=trainers)  # here 0
mean = sum(gathered) / dist.get_world_size(trainers)
print("result", mean.item())
dist.destroy_process_group()
