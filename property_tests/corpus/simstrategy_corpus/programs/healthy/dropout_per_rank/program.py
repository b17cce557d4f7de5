"""Dropout with a generator of each rank."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(47)
inputs = torch.randn(12, 4)
model = DistributedDataParallel(
    torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 1))
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
torch.manual_seed(1000 + rank)
for _ in range(3):
    loss = model(inputs[rank::world]).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
largest = torch.cat([one.detach().flatten() for one in model.parameters()])
smallest = largest.clone()
dist.all_reduce(largest, op=dist.ReduceOp.MAX)
dist.all_reduce(smallest, op=dist.ReduceOp.MIN)
if rank == 0:
    print("result spread", (largest - smallest).abs().max().item())
dist.destroy_process_group()
