"""Lesson 8 in PyTorch: ranks that make the same calls in the same order.

simstrategy torchrun --nproc-per-node 3 lesson_8_torch.py        runs this file on three ranks
simstrategy grade lesson_8_torch.py                              grades it
"""

import numpy as np
import torch
import torch.distributed as dist

LESSON = 8
PART = "pytorch"
SEED = ""


def draw(seed):
    """Returns the losses of all rows: [18] float32, some of them inf."""
    rng = np.random.default_rng(list(seed.encode()))
    losses = rng.integers(1, 80, size=18).astype(np.float32) / 8
    losses[[1, 8, 9]] = np.inf  # with 3 ranks, one part of the second batch is all inf
    return {"losses": losses}


def mean_of_finite(losses):
    """Returns the mean of all losses that are finite, the same on every rank: [] float32.

    losses: of the rows of this rank's part, [rows] float32. Some may be inf. In every batch some row is finite.
    """
    # hole: return the mean of the finite losses of all ranks
    finite = losses[torch.isfinite(losses)]
    both = torch.stack([finite.sum(), torch.tensor(float(len(finite)))])
    dist.all_reduce(both)
    return both[0] / both[1]
    # end of hole


def program(data):
    """Returns the mean of the finite losses of each batch, as this rank has it."""
    rank, size = dist.get_rank(), dist.get_world_size()
    batches = torch.from_numpy(data["losses"]).split(6)
    return {f"batch {number}": mean_of_finite(one.tensor_split(size)[rank]) for number, one in enumerate(batches)}


if __name__ == "__main__":
    dist.init_process_group("gloo")
    print(program(draw(SEED)))
