"""Lesson 0: where a replica stands among the others.

simstrategy run lesson_0.py --replicas 3        runs this file on three replicas
simstrategy grade lesson_0.py        grades it
"""

import numpy as np

import simstrategy as ss

LESSON = 0
SEED = ""
ANSWERS = {"prediction": ..., 1: ..., 2: ..., 3: ...}


def draw(seed):
    """Returns where the way begins: [] float32."""
    rng = np.random.default_rng(list(seed.encode()))
    return {"start": np.float32(rng.integers(1, 80)) / 8}


def place(start):
    """Returns the start plus this replica's place on the way: its rank divided by the number of replicas.

    start: [] float32. The first of 4 replicas is at start + 0, and the last one at start + 3/4.
    """
    ctx = ss.get_replica_context()
    # hole: return the start plus the rank divided by the number of replicas
    return start + np.float32(ctx.replica_id_in_sync_group / ctx.num_replicas_in_sync)
    # end of hole


def program(strategy, data=None):
    """Returns the place of every replica."""
    data = draw(SEED) if data is None else data
    return {"place": strategy.run(place, args=(data["start"],))}
