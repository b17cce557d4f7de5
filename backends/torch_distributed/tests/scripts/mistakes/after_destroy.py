# ranks: 2
"""The group is used after it was destroyed."""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
if dist.get_rank() == 0:
    print("started", flush=True)
total = torch.tensor([1.0])
dist.all_reduce(total)
dist.destroy_process_group()
dist.all_reduce(total)  # here 0
print("result", total.item())
