"""Adds noise to images in the workers of a DataLoader."""

import functools

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset


class Noisy(Dataset):
    """Images [3] with noise of the worker's generator."""

    def __len__(self):
        return 4

    def __getitem__(self, index):
        return torch.full((3,), float(index)) + torch.randn(3)


def seed_worker(worker_id, num_workers, rank):
    """Seeds a worker."""
    seed = 42 * num_workers + worker_id
    torch.manual_seed(seed)


def dist_seed(rank):
    """Returns a factor for each rank."""
    return rank + 1


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    initialise = functools.partial(seed_worker, num_workers=2, rank=rank)
    loader = DataLoader(Noisy(), batch_size=2, num_workers=2, worker_init_fn=initialise)
    for step, images in enumerate(loader):
        noise = images - images.mean(1, keepdim=True)
        print(f"rank {rank} noise{step}", *noise.flatten().tolist(), flush=True)
    dist.barrier()
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
