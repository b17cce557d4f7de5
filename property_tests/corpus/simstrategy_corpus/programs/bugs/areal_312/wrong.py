"""Clips gradients of a model that FSDP2 shards."""

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

LIMIT = 0.05


def clip_by_norm(parameters):
    """Scales the gradients in place.  parameters: sharded over the mesh."""
    gradients = [parameter.grad for parameter in parameters]
    norms = [gradient.to_local().norm() for gradient in gradients]
    total = torch.stack(norms).norm()
    for gradient in gradients:
        gradient.to_local().mul_((LIMIT / (total + 1e-6)).clamp(max=1.0))


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    mesh = init_device_mesh("cpu", (world,))
    torch.manual_seed(16)
    inputs, targets = torch.randn(8, 4), torch.randn(8, 4)
    model = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.Tanh(), torch.nn.Linear(6, 4))
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    for _ in range(3):
        loss = (model(inputs.chunk(world)[rank]) - targets.chunk(world)[rank]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        clip_by_norm(list(model.parameters()))
        optimizer.step()
    bias = model[2].bias.full_tensor()
    if rank == 0:
        print("result bias", *bias.tolist())


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
