# ranks: 2
"""The group was never made."""

import os

import torch
import torch.distributed as dist

if int(os.environ["RANK"]) == 0:
    print("started", flush=True)
total = torch.tensor([1.0])
dist.all_reduce(total)  # here 0
print("result", total.item())
