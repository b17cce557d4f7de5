# ranks: 2
"""Seven predictions make parts of four and three, and each rank makes room as if all were its own."""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
if rank == 0:
    print("started", flush=True)
predictions = torch.arange(7.0).tensor_split(2)[rank]
everyones = [torch.zeros_like(predictions) for _ in range(2)]
dist.all_gather(everyones, predictions)  # here 0
if rank == 0:
    print("result", torch.cat(everyones).tolist())
dist.destroy_process_group()
