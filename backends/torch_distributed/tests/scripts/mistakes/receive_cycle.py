# ranks: 3
"""Every rank receives before it sends, around a ring."""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
if rank == 0:
    print("started", flush=True)
token = torch.tensor([float(rank)])
neighbour = torch.empty(1)
dist.recv(neighbour, src=(rank - 1) % size)  # here 0
dist.send(token, dst=(rank + 1) % size)
print("result", neighbour.item())
dist.destroy_process_group()
