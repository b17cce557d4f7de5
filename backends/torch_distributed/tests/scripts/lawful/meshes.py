# ranks: 4
"""A mesh of two by two: its groups, coordinates, parts and flattened form, and functional collectives."""

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
from shown import exact, show
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh

mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicate", "shard"))
rank = dist.get_rank()
show("coordinate", f"{mesh.get_coordinate()} {mesh.get_local_rank('shard')} {mesh.shape} {mesh.ndim}")

for name in ("replicate", "shard"):
    tensor = torch.tensor([2.0**rank])
    dist.all_reduce(tensor, group=mesh.get_group(name))
    show(f"sum along {name}", f"{exact(tensor)} {dist.get_process_group_ranks(mesh[name].get_group())}")

flat = mesh["replicate", "shard"]._flatten("all")
tensor = torch.tensor([2.0**rank])
dist.all_reduce(tensor, group=flat.get_group())
show("flattened", exact(tensor))

row = mesh["shard"]
result = functional.all_reduce(torch.tensor([1.0 + rank]), "sum", row)
gathered = functional.all_gather_tensor(torch.tensor([[float(rank)]]), gather_dim=1, group=mesh.get_group("replicate"))
part = functional.reduce_scatter_tensor(torch.arange(4.0) + rank, "sum", scatter_dim=0, group=row)
show("functional", f"{exact(result)} {exact(gathered)} {exact(part)}")

other = DeviceMesh("cpu", torch.tensor([[0, 3], [1, 2]]), mesh_dim_names=("a", "b"))
tensor = torch.tensor([10 * rank])
dist.broadcast(tensor, group=other.get_group("b"), group_src=0)
show("another order of ranks", f"{other.get_coordinate()} {tensor.tolist()}")
dist.destroy_process_group()
