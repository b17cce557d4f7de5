"""Clips sharded gradients by the norm of all of them."""

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

LIMIT = 0.1


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(63)
    inputs, targets = torch.randn(8, 4), torch.randn(8, 2)
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
    fully_shard(model, mesh=init_device_mesh("cpu", (world,)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    for _ in range(3):
        optimizer.zero_grad()
        (model(inputs.chunk(world)[rank]) - targets.chunk(world)[rank]).square().mean().backward()
        norms = [parameter.grad.norm().full_tensor() for parameter in model.parameters()]
        factor = (LIMIT / (torch.stack(norms).norm() + 1e-6)).clamp(max=1.0)
        for parameter in model.parameters():
            parameter.grad.to_local().mul_(factor)
        optimizer.step()
    bias = model[2].bias.full_tensor()
    if rank == 0:
        print("result bias", *bias.tolist())


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
