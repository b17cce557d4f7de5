# ranks: 2
"""Groups are never destroyed, a handle is kept until the end, and functions run when the interpreter ends."""

import atexit
import sys

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
extra = dist.new_group([1, 0])
kept = []


@atexit.register
def at_the_end():
    if rank == 0:
        print("the end", kept[0].item())


total = torch.tensor([1.0 + rank])
handle = dist.all_reduce(total, group=extra, async_op=True)
handle.wait()
kept.append(total)
if rank == 0:
    print("sum", total.item())
dist.barrier()
sys.exit(0)
