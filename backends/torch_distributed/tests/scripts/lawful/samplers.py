# ranks: 3
"""DistributedSampler with epochs, padding and dropping, a loader with workers, and means over all rows."""

import torch
import torch.distributed as dist
from shown import rounded, show
from torch.utils.data import DataLoader, Dataset, DistributedSampler, TensorDataset


class Squares(Dataset):
    def __len__(self):
        return 11

    def __getitem__(self, number):
        return torch.tensor([number, number * number], dtype=torch.float32)


def main():
    dist.init_process_group("gloo")
    for drop_last in (False, True):
        sampler = DistributedSampler(Squares(), shuffle=True, seed=4, drop_last=drop_last)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            show(f"drop {drop_last}, epoch {epoch}", list(sampler))
    sampler = DistributedSampler(Squares(), shuffle=False)
    loader = DataLoader(Squares(), batch_size=2, sampler=sampler, num_workers=2, persistent_workers=True)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        total = torch.zeros(2)
        for batch in loader:
            total += batch.sum(0)
        show(f"rows of epoch {epoch}", total.tolist())
        dist.all_reduce(total)
        show(f"all rows of epoch {epoch}", total.tolist())
    data = TensorDataset(torch.arange(8.0))
    torch.manual_seed(1)
    mine = DataLoader(data, batch_size=3, shuffle=True, generator=torch.Generator().manual_seed(dist.get_rank()))
    sums = [batch.sum().item() for (batch,) in mine]
    show("a loader of its own", sums)
    count_and_sum = torch.tensor([float(len(data)), sum(sums)])
    dist.all_reduce(count_and_sum)
    show("mean", rounded(count_and_sum[1] / count_and_sum[0]))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
