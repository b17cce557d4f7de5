# ranks: 3
"""A rank without samples returns before the sum."""

import torch
import torch.distributed as dist


def evaluate(samples):
    if len(samples) == 0:
        return None
    total = torch.tensor(float(sum(samples)))
    dist.all_reduce(total)  # here 0
    return total.item()


dist.init_process_group("gloo")
rank = dist.get_rank()
if rank == 0:
    print("started", flush=True)
found = evaluate([[1, 2], [3], []][rank])
if rank == 0:
    print("result", found)
