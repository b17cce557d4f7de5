"""Draws weights by rank and takes those of the last one."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(world - 1 - rank)
    model = torch.nn.Linear(3, 2)
    for parameter in model.parameters():
        dist.broadcast(parameter.data, src=world - 1)
    model = DistributedDataParallel(model)
    data = torch.randn(12, 3, generator=torch.Generator().manual_seed(62))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    for _ in range(3):
        optimizer.zero_grad()
        model(data[rank::world]).square().mean().backward()
        optimizer.step()
    if rank == 0:
        print("result weight", *model.module.weight.flatten().tolist())


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
