# ranks: 2
"""The sum of the losses is divided and compared before it is waited for."""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
if rank == 0:
    print("started", flush=True)
best = float("inf")
for step in range(2):
    loss = torch.tensor([3.0 - step + rank])
    work = dist.all_reduce(loss, async_op=True)
    mean = loss / 2  # here 0
    best = min(best, mean.item())
    work.wait()
if rank == 0:
    print("result", best)
dist.destroy_process_group()
