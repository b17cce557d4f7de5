"""Logs the norm of the gradient of a model that FSDP2 shards."""

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    mesh = init_device_mesh("cpu", (world,))
    torch.manual_seed(17)
    inputs, targets = torch.randn(8, 4), torch.randn(8, 2)
    model = torch.nn.Linear(4, 2)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(3):
        loss = (model(inputs.chunk(world)[rank]) - targets.chunk(world)[rank]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        norms = [parameter.grad.norm() for parameter in model.parameters()]  # each a DTensor
        norm = torch.stack([one.full_tensor() for one in norms]).norm()
        optimizer.step()
        if rank == 0:
            print(f"result norm{step}", norm.item())


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
