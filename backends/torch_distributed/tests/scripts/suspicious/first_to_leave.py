# ranks: 3
"""After the last collective one rank ends at once, one works on for two seconds, and one calls os._exit(0)."""

import os
import sys
import time

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
total = torch.tensor(1.0 + rank)
dist.all_reduce(total)
dist.barrier()
if rank == 1:
    sys.exit()
if rank == 2:
    time.sleep(1)
    os._exit(0)
time.sleep(2)
print("total", total.item())
