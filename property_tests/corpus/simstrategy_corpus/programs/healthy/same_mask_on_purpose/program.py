"""Drops inputs of a layer whose columns are split over the ranks."""

import torch
import torch.distributed as dist

COLUMNS = 8


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(74)
    inputs, weight = torch.randn(5, 6), torch.randn(6, COLUMNS)
    shared = torch.Generator().manual_seed(9)  # the same on all ranks
    part = weight.chunk(world, 1)[rank]
    for step in range(2):
        mask = (torch.rand(6, generator=shared) > 0.3).float()
        outputs = (inputs * mask) @ part
        total = outputs.sum()
        dist.all_reduce(total)
        if rank == 0:
            print(f"result total{step}", total.item())


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
