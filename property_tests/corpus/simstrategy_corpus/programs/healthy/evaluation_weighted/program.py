"""Accuracy over 13 rows."""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(44)
rows, labels = torch.randn(13, 3), torch.randint(2, (13,))
model = torch.nn.Linear(3, 2)
right = model(rows[rank::world]).argmax(1) == labels[rank::world]
counts = torch.tensor([float(right.sum()), float(len(right))])
dist.all_reduce(counts)
if rank == 0:
    print("result accuracy", (counts[0] / counts[1]).item())
dist.destroy_process_group()
