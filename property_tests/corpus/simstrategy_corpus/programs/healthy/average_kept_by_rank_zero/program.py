"""Trains with DDP; rank 0 keeps a moving average of the weights."""

import copy

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(67)
    rows = torch.randn(12, 3)
    model = DistributedDataParallel(torch.nn.Linear(3, 1))
    average = copy.deepcopy(model.module) if rank == 0 else None
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    for _ in range(4):
        optimizer.zero_grad()
        (model(rows[rank::world]) - 1).square().mean().backward()
        optimizer.step()
        if average is not None:
            with torch.no_grad():
                for mean, value in zip(average.parameters(), model.module.parameters(), strict=True):
                    mean.lerp_(value, 0.5)
    dist.barrier()
    if average is not None:
        print("result average", *average.weight.flatten().tolist())


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
