"""Lesson 11 in PyTorch: a run that is stopped, and goes on from what rank 0 has saved.

simstrategy torchrun --nproc-per-node 3 lesson_11_torch.py        runs this file on three ranks
simstrategy grade lesson_11_torch.py                              grades it
"""

import numpy as np
import torch
import torch.distributed as dist

LESSON = 11
PART = "pytorch"
SEED = ""


def draw(seed):
    """Returns the inputs: [24] float32."""
    rng = np.random.default_rng(list(seed.encode()))
    return {"inputs": rng.integers(1, 80, size=24).astype(np.float32) / 8}


def checkpoint_of(weight, seen, done):
    """Returns all that a new start needs, as a dictionary.  What rank 0 returns is saved, and nothing else.

    weight: [] float32, equal on all ranks. seen: how many rows this rank has seen, [] float32. done: how many batches
    are done, an int.
    """
    # hole: return what a new start needs
    total = seen.clone()
    dist.all_reduce(total)
    return {"weight": weight.clone(), "seen": total, "done": done}
    # end of hole


def resume(weight, seen, saved):
    """Puts what was saved into new tensors, and returns how many batches are done.

    weight, seen: new ones, zero on every rank, to change in place. All ranks together have seen what they had seen
    before. saved: what checkpoint_of has returned on rank 0; every rank gets it.
    """
    # hole: fill the tensors, and return the number of batches that are done
    weight += saved["weight"]
    if dist.get_rank() == 0:
        seen += saved["seen"]
    return saved["done"]
    # end of hole


def train(inputs, saved, last):
    """Trains until so many batches are done; returns the tensors, and what rank 0 saves."""
    rank, size = dist.get_rank(), dist.get_world_size()
    weight, seen = torch.zeros(()), torch.zeros(())
    done = 0 if saved is None else resume(weight, seen, saved)
    for batch in inputs.split(6)[done:last]:
        part = batch.tensor_split(size)[rank]
        total = part.sum()
        dist.all_reduce(total)
        weight += 0.5 * (total / len(batch) - weight)
        seen += len(part)
        done += 1
    return weight, seen, checkpoint_of(weight, seen, done)


def program(data):
    """Trains 2 batches, stops, and trains 2 more; returns the weight and the rows seen."""
    inputs = torch.from_numpy(data["inputs"])
    *_, saved = train(inputs, None, 2)
    written = [saved]
    dist.broadcast_object_list(written)  # as if rank 0 wrote a file: of the first run nothing else is left
    weight, seen, _ = train(inputs, written[0], 4)
    dist.all_reduce(seen)
    return {"weight": weight, "seen": seen}


if __name__ == "__main__":
    dist.init_process_group("gloo")
    print(program(draw(SEED)))
