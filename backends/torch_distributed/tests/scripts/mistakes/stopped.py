# ranks: 2
"""One rank is stopped in the third step, and neither waits nor ends."""

import os
import signal

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
if rank == 0:
    print("started", flush=True)
for step in range(4):
    if step == 2 and rank == 1:
        os.kill(os.getpid(), signal.SIGSTOP)
    total = torch.ones(4)
    dist.all_reduce(total)  # here 0
print("result", total.tolist())
dist.destroy_process_group()
