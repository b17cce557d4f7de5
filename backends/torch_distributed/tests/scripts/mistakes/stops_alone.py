# ranks: 2
"""Rank 0 stops early, and the others are not notified."""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
if rank == 0:
    print("started", flush=True)
best, patience = float("inf"), 0
for epoch in range(6):
    loss = torch.tensor([3.0, 2.0, 2.5, 2.6, 1.0, 0.5][epoch] + rank)
    dist.all_reduce(loss)  # here 1
    if rank == 0:  # the other ranks are not notified
        patience = 0 if loss < best else patience + 1
        best = min(best, loss.item())
        if patience == 2:
            break
dist.barrier()  # here 0
print("result", best)
dist.destroy_process_group()
