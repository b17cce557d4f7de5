"""Asynchronous sums, waited for backwards."""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
parts = [torch.arange(12.0).reshape(4, 3)[:, number].clone()[rank::world].sum() for number in range(3)]
works = [dist.all_reduce(part, async_op=True) for part in parts]
for work in reversed(works):
    work.wait()
if rank == 0:
    print("result sums", *[part.item() for part in parts])
dist.destroy_process_group()
