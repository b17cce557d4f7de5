"""The ordinary loop of DDP."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(40)
inputs, targets = torch.randn(16, 4), torch.randn(16, 1)
model = DistributedDataParallel(torch.nn.Linear(4, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
for _ in range(5):
    loss = (model(inputs[rank::world]) - targets[rank::world]).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
if rank == 0:
    print("result weight", *model.module.weight.flatten().tolist())
dist.destroy_process_group()
