"""A model in shards."""

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(43)
inputs = torch.randn(8, 4)
model = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.ReLU(), torch.nn.Linear(6, 2))
fully_shard(model, mesh=init_device_mesh("cpu", (world,)))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)
for _ in range(3):
    loss = (model(inputs.chunk(world)[rank]) - 1).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
bias = model[2].bias.full_tensor()
if rank == 0:
    print("result bias", *bias.tolist())
dist.destroy_process_group()
