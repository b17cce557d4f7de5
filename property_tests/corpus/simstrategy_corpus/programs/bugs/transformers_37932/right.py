"""Augments images with noise, with the generator of each worker of a loader."""

import torch
import torch.distributed as dist

WORKERS = 2


def seed_worker(worker_id, num_workers, rank):
    """Seeds the generator of a worker."""
    seed = 42 + num_workers * rank + worker_id
    torch.manual_seed(seed)


def augmented(images):
    """Returns images with noise."""
    return images + torch.randn(images.shape)


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    images = torch.full((2, 3), float(rank))
    for worker in range(WORKERS):  # what each worker of this rank's loader does
        seed_worker(worker, WORKERS, rank)
        noise = augmented(images) - images
        print(f"rank {rank} noise{worker}", *[round(one, 3) for one in noise.flatten().tolist()], flush=True)
        total = noise.square().sum()
        dist.all_reduce(total)


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
