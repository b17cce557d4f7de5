# ranks: 3
"""Each rank decides alone which one has the best model, and broadcasts from there."""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
if rank == 0:
    print("started", flush=True)
best = torch.tensor(float(rank))
losses = torch.tensor([0.3, 0.1, 0.2])
if rank == 2:
    losses[0] = 0.05  # each rank decides alone who has the best model
dist.broadcast(best, src=int(losses.argmin()))  # here 0
print("result", best.item())
dist.destroy_process_group()
