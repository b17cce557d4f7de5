"""Averages validation errors of two grids, of which ranks get different numbers of batches."""

import torch
import torch.distributed as dist

BATCHES = 9


def all_reduce_mean(value):
    """Returns the mean of the ranks' values."""
    dist.all_reduce(value)
    return value / dist.get_world_size()


class MeanAggregator:
    """Means of metrics by grid."""

    def __init__(self):
        self.sums, self.batches = {}, {}

    def record(self, grid, error):
        self.sums[grid] = self.sums.get(grid, torch.zeros(())) + error
        self.batches[grid] = self.batches.get(grid, 0) + 1

    def mean(self, grid):
        local = self.sums[grid] / self.batches[grid]
        return all_reduce_mean(local)


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    errors = torch.arange(float(BATCHES)).flip(0).square()
    aggregator = MeanAggregator()
    for number in range(rank, BATCHES, world):
        aggregator.record("coarse" if number < BATCHES - 3 else "fine", errors[number])
    for grid in ("coarse", "fine"):
        value = aggregator.mean(grid)
        if rank == 0:
            print("result", grid, value.item())


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
