# ranks: 3
"""Ranks are late by different times: asleep, busy, in a long call that holds the interpreter, and at the end."""

import time

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
total = torch.tensor(1.0)
time.sleep(1.5 * rank)
dist.all_reduce(total)
if rank == 1:
    until = time.monotonic() + 1.5
    while time.monotonic() < until:
        pass
dist.all_reduce(total)
if rank == 0:
    sum(range(40_000_000))
dist.all_reduce(total)
if rank == 2:
    time.sleep(2.5)
dist.barrier()
print(f"{total.item()}\n", end="", flush=True)
time.sleep(0.5 * (2 - rank))
dist.destroy_process_group()
