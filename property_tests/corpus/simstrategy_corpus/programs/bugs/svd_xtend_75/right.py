"""A dataset that picks a random video for each item."""

import random

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset, DistributedSampler

VIDEOS = 50


class Videos(Dataset):
    """Ignores the index, and draws."""

    def __len__(self):
        return VIDEOS

    def __getitem__(self, index):
        return random.choice(range(VIDEOS))


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    random.seed(123 + rank)
    videos = Videos()
    loader = DataLoader(videos, batch_size=5, sampler=DistributedSampler(videos, seed=1))
    for step, numbers in zip(range(2), loader):
        print(f"rank {rank} videos{step}", *numbers.tolist(), flush=True)
        total = numbers.float().mean()
        dist.all_reduce(total)


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
