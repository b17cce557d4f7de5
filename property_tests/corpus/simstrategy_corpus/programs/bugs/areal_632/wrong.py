"""An endless iteration over a shuffled dataset."""

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler

SAMPLES = 16


def cycle(loader):
    """Yields batches for ever."""
    epoch = 0
    while True:
        yield from loader
        epoch += 1


def main():
    dist.init_process_group("gloo")
    dataset = torch.arange(float(SAMPLES))
    loader = DataLoader(dataset, batch_size=2, sampler=DistributedSampler(dataset, shuffle=True, seed=5))
    batches = cycle(loader)
    weight = torch.zeros(1)
    for epoch in range(3):
        seen = []
        for _ in range(len(loader)):
            batch = next(batches)
            gradient = (weight - batch).mean()
            dist.all_reduce(gradient)
            weight -= 0.05 * gradient
            seen += batch.tolist()
        if dist.get_rank() == 0:
            print(f"epoch {epoch} order", *seen)


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
