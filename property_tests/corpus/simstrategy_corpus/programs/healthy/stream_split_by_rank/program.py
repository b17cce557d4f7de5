"""Reads a stream once, shared out over the ranks."""

import itertools

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, IterableDataset

SAMPLES = 12


class Stream(IterableDataset):
    """Samples of a source that can be read from the start only."""

    def __iter__(self):
        source = (torch.tensor(float(number)) for number in range(SAMPLES))
        return itertools.islice(source, dist.get_rank(), None, dist.get_world_size())


def main():
    dist.init_process_group("gloo")
    totals = torch.zeros(2)
    for batch in DataLoader(Stream(), batch_size=2):
        totals += torch.stack([batch.sum(), torch.tensor(float(len(batch)))])
    dist.all_reduce(totals)
    if dist.get_rank() == 0:
        print("result mean", (totals[0] / totals[1]).item())


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
