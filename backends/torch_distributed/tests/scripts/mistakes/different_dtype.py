# ranks: 2
"""Counts are float64 on one rank and int64 on the other: eight bytes each."""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
if rank == 0:
    print("started", flush=True)
correct = torch.tensor([3, 4]) if rank else torch.tensor([3.0, 4.0], dtype=torch.float64)
dist.all_reduce(correct)  # here 0
if rank == 0:
    print("result", correct.tolist())
dist.destroy_process_group()
