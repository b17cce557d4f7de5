"""Samples columns of k-space by random masks."""

import numpy as np
import torch
import torch.distributed as dist

COLUMNS, KEPT = 16, 4


class RandomMask:
    """Draws which columns are kept."""

    def __init__(self):
        self.generator = np.random.RandomState()

    def seed(self, worker):
        self.generator.seed((1234 + worker) % 2**32)

    def __call__(self):
        mask = np.zeros(COLUMNS, np.float32)
        mask[self.generator.choice(COLUMNS, KEPT, replace=False)] = 1
        return torch.from_numpy(mask)


def main():
    dist.init_process_group("gloo")
    rank, workers = dist.get_rank(), 2
    torch.manual_seed(30)
    spectrum = torch.randn(COLUMNS)
    for worker in range(workers):
        draw = RandomMask()
        draw.seed(worker)
        mask = draw()
        print(f"rank {rank} mask{worker}", *mask.tolist(), flush=True)
        energy = (mask * spectrum).square().sum()
        dist.all_reduce(energy)


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
