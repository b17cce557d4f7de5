"""Gradients are partitioned over the ranks, each of which keeps its share of the sum."""

import argparse

import torch
import torch.distributed as dist

COLUMNS = 4


class Partition:
    """This rank's share of a weight [columns] and of its gradient."""

    def __init__(self, steps):
        self.steps, self.done = steps, 0
        self.gradient = torch.zeros(COLUMNS // dist.get_world_size())

    def add(self, gradient):
        pieces = [torch.empty_like(gradient) for _ in range(dist.get_world_size())]
        dist.all_gather(pieces, gradient)
        mean = torch.stack(pieces).mean(0)
        share = mean.chunk(dist.get_world_size())[dist.get_rank()] / self.steps
        boundary = self.done % self.steps == 0
        self.gradient = share if boundary else self.gradient + share
        self.done += 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--accumulate", type=int, default=1)
    steps = parser.parse_args().accumulate
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(13)
    inputs, targets = torch.randn(12, COLUMNS).chunk(world)[rank], torch.randn(12).chunk(world)[rank]
    weight, partition = torch.zeros(COLUMNS), Partition(steps)
    for _ in range(3):
        for rows, wanted in zip(inputs.chunk(steps), targets.chunk(steps), strict=True):
            partition.add(2 * rows.T @ (rows @ weight - wanted) / len(rows))
        mine = weight.chunk(world)[rank] - 0.1 * partition.gradient
        shares = [torch.empty_like(mine) for _ in range(world)]
        dist.all_gather(shares, mine)
        weight = torch.cat(shares)
    if rank == 0:
        print("result weight", *weight.tolist())


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
