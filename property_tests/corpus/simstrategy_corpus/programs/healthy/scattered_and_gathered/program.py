"""Reduces the shards of a gradient, and gathers the updated shards."""

import torch
import torch.distributed as dist

SIZE = 8


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(77)
    rows, weight = torch.randn(16, SIZE), torch.zeros(SIZE)
    for _ in range(3):
        gradient = (weight - rows[rank::world]).sum(0) / len(rows)
        shard = torch.empty(SIZE // world)
        dist.reduce_scatter_tensor(shard, gradient)
        updated = weight.chunk(world)[rank] - 0.2 * shard
        weight = torch.empty(SIZE)
        dist.all_gather_into_tensor(weight, updated)
    if rank == 0:
        print("result weight", *weight.tolist())


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
