"""Regression on 13 samples, each rank has a share."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

SAMPLES = 13


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(3)
    inputs, targets = torch.randn(SAMPLES, 4), 2 * torch.randn(SAMPLES, 1)
    mine = range(rank, SAMPLES, world)
    model = DistributedDataParallel(torch.nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        errors = (model(inputs[mine]) - targets[mine]).square()
        loss = errors.mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if rank == 0:
        print("result weight", *model.module.weight.flatten().tolist())


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
