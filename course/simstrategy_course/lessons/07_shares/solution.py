"""Lesson 7: which rows of a batch a replica gets.

simstrategy run lesson_7.py --replicas 3        runs this file on three replicas
simstrategy grade lesson_7.py        grades it
"""

import numpy as np

import simstrategy as ss

LESSON = 7
SEED = ""
ANSWERS = {"prediction": ..., 1: ..., 2: ..., 3: ...}


def draw(seed):
    """Returns the sizes of four batches: [4] int64."""
    rng = np.random.default_rng(list(seed.encode()))
    return {"sizes": np.int64([4, rng.integers(11, 14), rng.integers(16, 20), rng.integers(1, 3)])}


def rows_of(rows, replicas, rank):
    """Returns the number of the first row of a replica's part, and how many rows the part has: two ints.

    rows: of the batch. replicas: that share it. rank: of the replica. The rule is clause D-1. A part without rows
    begins where the batch ends.
    """
    # hole: compute the first row and the number of rows
    size = -(-rows // replicas)
    first = min(rank * size, rows)
    return first, min(size, rows - first)
    # end of hole


def program(strategy, data=None):
    """Returns what rows_of predicts of each batch, and what the strategy does."""
    data = draw(SEED) if data is None else data
    replicas = strategy.num_replicas_in_sync
    found = {}
    for number, rows in enumerate(int(size) for size in data["sizes"]):
        found[f"predicted {number}"] = [np.int64(rows_of(rows, replicas, rank)) for rank in range(replicas)]
        dataset = ss.data.Dataset.from_tensor_slices(np.arange(rows)).batch(rows)
        (parts,) = strategy.experimental_distribute_dataset(dataset)
        found[f"true {number}"] = strategy.experimental_local_results(parts)
    return found
