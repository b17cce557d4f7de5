# ranks: 4
"""Rank 3 adds up along its column while the others do along their rows."""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
if rank == 0:
    print("started", flush=True)
rows = [dist.new_group([0, 1]), dist.new_group([2, 3])]
columns = [dist.new_group([0, 2]), dist.new_group([1, 3])]
group = rows[rank // 2] if rank != 3 else columns[1]  # rank 3 takes its column
total = torch.tensor([1.0])
dist.all_reduce(total, group=group)  # here 0
dist.all_reduce(total)  # here 1
print("result", total.item())
dist.destroy_process_group()
