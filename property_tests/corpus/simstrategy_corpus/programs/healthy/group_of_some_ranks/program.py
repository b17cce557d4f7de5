"""A sum over the even ranks only, which is then given to all."""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
even = dist.new_group(list(range(0, world, 2)))
share = torch.arange(8.0)[rank // 2 :: (world + 1) // 2].sum()
if rank % 2 == 0:
    dist.all_reduce(share, group=even)
dist.broadcast(share, src=0)
if rank == world - 1:
    assert share == 28
if rank == 0:
    print("result share", share.item())
dist.destroy_process_group()
