# ranks: 2
"""One rank ends with exit code 3 in the second step."""

import sys

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
if rank == 0:
    print("started", flush=True)
for step in range(3):
    loss = torch.tensor(1.0 / (step + 1) - rank)
    if loss < -0.4:
        sys.exit(3)
    dist.all_reduce(loss)  # here 0
print("result", loss.item())
dist.destroy_process_group()
