"""Gradient accumulation with no_sync."""

import argparse
import contextlib

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

parser = argparse.ArgumentParser()
parser.add_argument("--accumulate", type=int, default=1)
steps = parser.parse_args().accumulate
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(41)
inputs = torch.randn(16, 4)
model = DistributedDataParallel(torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    optimizer.zero_grad()
    for number, rows in enumerate(inputs.chunk(world)[rank].chunk(steps)):
        with contextlib.nullcontext() if number == steps - 1 else model.no_sync():
            ((model(rows) - 1).square().mean() / steps).backward()
    optimizer.step()
if rank == 0:
    print("result weight", *model.module.weight.flatten().tolist())
dist.destroy_process_group()
