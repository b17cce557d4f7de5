# ranks: 4
"""Hybrid FSDP2: each rank steps other shards, and one rank of two has an empty one."""

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicate", "shard"))
rank = dist.get_rank()
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.Tanh(), torch.nn.Linear(5, 1))
fully_shard(model[0], mesh=mesh)
fully_shard(model, mesh=mesh)
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
for step in range(3):
    inputs = torch.randn(2, 3, generator=torch.Generator().manual_seed(10 * step + rank))
    model(inputs).pow(2).mean().backward()
    optimizer.step()
    optimizer.zero_grad()
shards = [(tuple(one.to_local().shape), round(one.to_local().sum().item(), 3)) for one in model.parameters()]
reports = [None] * 4
dist.all_gather_object(reports, shards)
if rank == 0:
    print(*reports, sep="\n")
    print(reports[0] == reports[2], reports[1] == reports[3], reports[0] == reports[1])
dist.destroy_process_group()
