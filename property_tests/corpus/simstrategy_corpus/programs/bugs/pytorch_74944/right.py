"""Synchronised batch statistics of 3 rows, of which some ranks have none."""

import torch
import torch.distributed as dist

ROWS = 3


def statistics(rows):
    """Returns the mean and the mean of squares over all ranks.  rows: [rows, columns], perhaps none."""
    count = torch.tensor(float(len(rows)))
    sums = torch.stack([rows.sum(0), rows.square().sum(0)])
    dist.all_reduce(count)
    dist.all_reduce(sums)
    return sums / count


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(22)
    rows = torch.randn(ROWS, 2)
    mean, squares = statistics(rows[rank::world])
    if rank == 0:
        print("result mean", *mean.tolist())
        print("result variance", *(squares - mean.square()).tolist())


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
