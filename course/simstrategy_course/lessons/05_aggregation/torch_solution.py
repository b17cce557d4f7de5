"""Lesson 5 in PyTorch: two tensors that all ranks write to.

simstrategy torchrun --nproc-per-node 3 lesson_5_torch.py        runs this file on three ranks
simstrategy grade lesson_5_torch.py                              grades it
"""

import numpy as np
import torch
import torch.distributed as dist

LESSON = 5
PART = "pytorch"
SEED = ""


def draw(seed):
    """Returns the inputs: [24] float32."""
    rng = np.random.default_rng(list(seed.encode()))
    return {"inputs": rng.integers(1, 80, size=24).astype(np.float32) / 8}


def step(large, weight, inputs):
    """Adds to large how many inputs above 5 all ranks have, and moves the weight by the mean of the proposals.

    large, weight: [] float32, changed in place, and equal on all ranks afterwards. inputs: of this rank's part, [rows]
    float32. A rank proposes half the way from the weight to the mean of its part.
    """
    # hole: write to large and to weight
    count = (inputs > 5).sum().float()
    change = 0.5 * (inputs.mean() - weight)
    dist.all_reduce(count)
    dist.all_reduce(change)
    large += count
    weight += change / dist.get_world_size()
    # end of hole


def program(data):
    """Returns the number of large inputs and the weight, both as this rank has them."""
    rank, size = dist.get_rank(), dist.get_world_size()
    large, weight = torch.zeros(()), torch.zeros(())
    for batch in torch.from_numpy(data["inputs"]).split(12):
        step(large, weight, batch.tensor_split(size)[rank])
    return {"large": large, "weight": weight}


if __name__ == "__main__":
    dist.init_process_group("gloo")
    print(program(draw(SEED)))
