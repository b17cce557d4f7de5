"""Adds gradients within a node first, and over the nodes then."""

import torch
import torch.distributed as dist


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    pairs = [dist.new_group([first, first + 1]) for first in range(0, world, 2)]
    leaders = dist.new_group(list(range(0, world, 2)))
    pair = pairs[rank // 2]
    torch.manual_seed(66)
    rows, weight = torch.randn(8, 3), torch.zeros(3)
    for _ in range(3):
        gradient = (weight - rows[rank::world]).sum(0)
        dist.reduce(gradient, dst=rank - rank % 2, group=pair)
        if rank % 2 == 0:
            dist.all_reduce(gradient, group=leaders)
        dist.broadcast(gradient, src=rank - rank % 2, group=pair)
        weight = weight - 0.1 * gradient / len(rows)
    if rank == 0:
        print("result weight", *weight.tolist())


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
