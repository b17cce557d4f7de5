"""Mean and variance of 10 rows over all ranks."""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(52)
rows = torch.randn(10, 3)[rank::world]
sums = torch.cat([rows.sum(0), rows.square().sum(0), torch.tensor([float(len(rows))])])
dist.all_reduce(sums)
mean = sums[:3] / sums[6]
if rank == 0:
    print("result mean", *mean.tolist())
    print("result variance", *(sums[3:6] / sums[6] - mean.square()).tolist())
dist.destroy_process_group()
