# ranks: 4
"""Two data-parallel groups of two model-parallel ranks: parallelize_module, and autograd through collectives."""

import torch
import torch.distributed as dist
import torch.distributed.nn.functional as differentiable
from shown import exact, rounded, show
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up = torch.nn.Linear(4, 8)
        self.down = torch.nn.Linear(8, 4)

    def forward(self, inputs):
        return self.down(torch.relu(self.up(inputs)))


mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("data", "model"))
rank, data_rank = dist.get_rank(), mesh.get_local_rank("data")
torch.manual_seed(0)
plain = Block()
torch.manual_seed(0)
block = parallelize_module(Block(), mesh["model"], {"up": ColwiseParallel(), "down": RowwiseParallel()})
optimizer = torch.optim.SGD(block.parameters(), lr=0.1)
inputs = torch.randn(3, 4, generator=torch.Generator().manual_seed(data_rank))
show("as one", torch.allclose(block(inputs), plain(inputs), atol=1e-6))
show("shards", [list(one.to_local().shape) for one in block.parameters()])
for step in range(3):
    optimizer.zero_grad()
    loss = block(inputs).pow(2).mean()
    loss.backward()
    for parameter in block.parameters():
        gradient = parameter.grad.to_local()
        dist.all_reduce(gradient, group=mesh.get_group("data"))
        gradient /= 2
    optimizer.step()
    show(f"step {step}", rounded(loss))
show("weights", rounded([one.full_tensor().sum() for one in block.parameters()]))

leaf = torch.full((2,), 1.0 + rank, requires_grad=True)
total = differentiable.all_reduce(leaf * leaf)
(total * (rank + 1)).sum().backward()
show("gradient of all_reduce", exact(leaf.grad))
leaf.grad = None
parts = differentiable.all_gather(leaf, group=mesh.get_group("model"))
(parts[0] * 2 + parts[1] * 3).sum().backward()
show("gradient of all_gather", exact(leaf.grad))
dist.destroy_process_group()
