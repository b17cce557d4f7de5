# ranks: 2
"""Loaders with other numbers of workers on each rank, persistent ones, and an iterable set split by worker."""

import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info


class Numbers(Dataset):
    def __len__(self):
        return 12

    def __getitem__(self, number):
        return float(number)


class Stream(IterableDataset):
    def __iter__(self):
        info = get_worker_info()
        return iter(range(info.id if info else 0, 8, info.num_workers if info else 1))


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    loader = DataLoader(Numbers(), batch_size=3, num_workers=rank + 1, persistent_workers=True)
    sums = []
    for _ in range(2):
        for batch in loader:
            total = batch.sum()
            dist.all_reduce(total)
            sums.append(total.item())
    streamed = sorted(DataLoader(Stream(), batch_size=None, num_workers=2 - 2 * rank))
    reports = [None] * 2
    dist.all_gather_object(reports, streamed)
    if rank == 0:
        print(sums, *reports, sep="\n")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
