"""Trains with torch's post-local SGD, and a gradient scaler; one rank has a gradient that is not finite."""

import torch
import torch.distributed as dist
from torch.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
from torch.distributed.optim import PostLocalSGDOptimizer

dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)
model = torch.nn.Linear(3, 1)
averager = PeriodicModelAverager(period=2, warmup_steps=0)
optimizer = PostLocalSGDOptimizer(torch.optim.SGD(model.parameters(), lr=0.1), averager)
scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
batches = torch.randn(5, 4, 3, generator=torch.Generator().manual_seed(rank))
if rank == 1:
    batches[1, 0, 0] = torch.inf
for inputs in batches:
    optimizer.zero_grad()
    loss = model(inputs).square().mean()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
dist.barrier()
dist.destroy_process_group()
