"""Lesson 3 in PyTorch: the mean loss of a batch whose parts are unequal.

simstrategy torchrun --nproc-per-node 3 lesson_3_torch.py        runs this file on three ranks
simstrategy grade lesson_3_torch.py                              grades it
"""

import numpy as np
import torch
import torch.distributed as dist

LESSON = 3
PART = "pytorch"
SEED = ""


def draw(seed):
    """Returns the losses of all rows: [22] float32."""
    rng = np.random.default_rng(list(seed.encode()))
    return {"losses": rng.integers(1, 80, size=22).astype(np.float32) / 8}


def mean_of_batch(losses):
    """Returns the mean loss of the global batch, the same on every rank: [] float32.

    losses: of the rows of this rank's part, [rows] float32. A part may have no rows.
    """
    # hole: return the mean over the rows of all ranks
    both = torch.stack([losses.sum(), torch.tensor(float(len(losses)))])
    dist.all_reduce(both)
    return both[0] / both[1]
    # end of hole


def program(data):
    """Returns the mean loss of every batch, as this rank has it."""
    rank, size = dist.get_rank(), dist.get_world_size()
    found = {}
    for number, batch in enumerate(torch.from_numpy(data["losses"]).split(10)):  # the last batch has 2 rows
        rows = -(-len(batch) // size)
        found[f"batch {number}"] = mean_of_batch(batch[rank * rows : (rank + 1) * rows])
    return found


if __name__ == "__main__":
    dist.init_process_group("gloo")
    print(program(draw(SEED)))
