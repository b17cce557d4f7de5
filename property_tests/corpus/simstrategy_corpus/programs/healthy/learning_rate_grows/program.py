"""A linear scaling rule whose factor is undone by the loss."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(50)
inputs = torch.randn(8, 3)
model = DistributedDataParallel(torch.nn.Linear(3, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05 * world)
for _ in range(4):
    loss = (model(inputs[rank::world]) - 1).square().sum() / len(inputs)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
if rank == 0:
    print("result weight", *model.module.weight.flatten().tolist())
dist.destroy_process_group()
