"""Trains an epoch with DistributedDataParallel on files that are shared out; one rank has a batch more."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
files = torch.randn(5, 2, 3, generator=torch.Generator().manual_seed(0))
torch.manual_seed(0)
model = DistributedDataParallel(torch.nn.Linear(3, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for inputs in files[dist.get_rank() :: dist.get_world_size()]:
    optimizer.zero_grad()
    loss = model(inputs).square().mean()
    loss.backward()
    optimizer.step()
dist.destroy_process_group()
