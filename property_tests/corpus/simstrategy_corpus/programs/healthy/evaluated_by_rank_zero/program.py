"""Trains on all ranks, and evaluates on one."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(76)
    rows, held_back = torch.randn(12, 3), torch.randn(5, 3)
    model = DistributedDataParallel(torch.nn.Linear(3, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    for epoch in range(3):
        optimizer.zero_grad()
        (model(rows[rank::world]) - 1).square().mean().backward()
        optimizer.step()
        if rank == 0:
            with torch.no_grad():
                loss = (model.module(held_back) - 1).square().mean()
            print(f"result loss{epoch}", loss.item())
        dist.barrier()


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
