# ranks: 3
"""One rank does not find its file; the others wait."""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
if rank == 0:
    print("started", flush=True)
files = {"part-0": 1.0, "part-1": 2.0}
value = torch.tensor(files[f"part-{rank}"])  # here 2
dist.all_reduce(value)  # here 0
print("result", value.item())
dist.destroy_process_group()
