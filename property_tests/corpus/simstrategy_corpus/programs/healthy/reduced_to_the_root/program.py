"""Reduces a histogram to rank 0."""

import torch
import torch.distributed as dist


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(68)
    classes = torch.randint(5, (20,))
    counts = torch.bincount(classes[rank::world], minlength=5).float()
    dist.reduce(counts, dst=0)
    if rank == 0:
        print("result counts", *counts.tolist())


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
