"""Trains with dropout; all ranks set the seed of the run."""

import torch
import torch.distributed as dist


def set_seed(seed):
    """Seeds the generators of this process."""
    torch.manual_seed(seed)


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    set_seed(40)
    dropout = torch.nn.Dropout(0.5)
    weight = torch.ones(12)
    for step in range(2):
        mask = dropout(torch.ones(12))
        print(f"rank {rank} mask{step}", *mask.tolist(), flush=True)
        gradient = weight * mask * (rank + 1)
        dist.all_reduce(gradient)
        weight = weight - 0.1 * gradient / world


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
