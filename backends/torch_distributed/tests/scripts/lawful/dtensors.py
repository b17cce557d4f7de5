# ranks: 4
"""DTensor: sharded, replicated and partial placements, uneven shards, products, and gradients through redistribute."""

import torch
import torch.distributed as dist
from shown import exact, show
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor, ones

mesh = init_device_mesh("cpu", (4,))
grid = init_device_mesh("cpu", (2, 2), mesh_dim_names=("a", "b"))
rank = dist.get_rank()
whole = torch.arange(24.0).reshape(6, 4)

rows = distribute_tensor(whole, mesh, [Shard(0)])
show("uneven rows", exact(rows.to_local()))
columns = rows.redistribute(mesh, [Shard(1)])
show("columns", exact(columns.to_local()))
show("whole again", torch.equal(columns.full_tensor(), whole))

partial = DTensor.from_local(torch.full((4, 2), float(rank)), mesh, [Partial()])
show("partial to shards", exact(partial.redistribute(mesh, [Shard(0)]).to_local()))
show("partial to whole", exact(partial.redistribute(mesh, [Replicate()]).to_local()))

product = rows.t() @ distribute_tensor(torch.ones(6, 2), mesh, [Shard(0)])
show("product", f"{product.placements} {exact(product.full_tensor())}")
show("sum and mean", f"{rows.sum().full_tensor().item()} {rows.mean().full_tensor().item()}")

block = distribute_tensor(whole, grid, [Shard(0), Shard(1)])
show("blocks", exact(block.to_local()))
moved = block.redistribute(grid, [Replicate(), Shard(0)])
show("blocks moved", exact(moved.to_local()))

weight = distribute_tensor(torch.ones(4, 4), mesh, [Shard(0)]).requires_grad_()
loss = (weight.redistribute(mesh, [Replicate()]).to_local() * (rank + 1)).sum()
loss.backward()
show("gradient", exact(weight.grad.to_local()))
show("ones", list(ones(5, 2, device_mesh=mesh, placements=[Shard(0)]).to_local().shape))
dist.destroy_process_group()
