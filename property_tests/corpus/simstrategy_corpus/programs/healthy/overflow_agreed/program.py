"""Skips a step on all ranks where one has found an infinite gradient."""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
weight, skipped = torch.ones(()), 0
for step in range(6):
    gradient = torch.inf if rank == 1 and step == 3 else weight.item()
    found = torch.tensor(float(gradient == torch.inf))
    dist.all_reduce(found, op=dist.ReduceOp.MAX)
    if found:
        skipped += 1
        continue
    total = torch.tensor(gradient)
    dist.all_reduce(total)
    weight -= 0.1 * total / world
if rank == 0:
    print("result skipped", skipped)
    print("result weight", weight.item())
dist.destroy_process_group()
