"""The first rank and the others call broadcast in branches of their own."""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
if rank == 0:
    plan = torch.arange(4.0)
    dist.broadcast(plan, src=0)
else:
    plan = torch.empty(4)
    dist.broadcast(plan, src=0)
total = plan / dist.get_world_size()
dist.all_reduce(total)
if rank == 0:
    print("result plan", *total.tolist())
dist.destroy_process_group()
