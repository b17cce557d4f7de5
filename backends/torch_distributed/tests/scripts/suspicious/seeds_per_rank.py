# ranks: 2
"""Each rank draws its own noise, crops and order on purpose; NumPy, random and torch have other seeds everywhere."""

import random

import numpy as np
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(1234 + rank)
random.seed(rank)
np.random.seed(rank)
model = DDP(torch.nn.Linear(4, 1))  # rank 0's first values for all
draws = []
for _ in range(3):
    noise = torch.randn(2, 4)
    flip = random.random() < 0.5
    scale = np.random.uniform(0.5, 1.5)
    batch = (noise.flip(1) if flip else noise) * float(scale)
    model(batch).sum().backward()
    draws.append(round(batch.sum().item(), 3))
every = [None] * 2
dist.all_gather_object(every, draws)
if rank == 0:
    print(*every, sep="\n")
    print(len({tuple(one) for one in every}), "different streams", round(model.module.bias.grad.item(), 3))
dist.destroy_process_group()
