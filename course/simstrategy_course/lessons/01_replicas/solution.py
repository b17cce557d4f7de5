"""Lesson 1: values that every replica has for itself.

simstrategy run lesson_1.py --replicas 3        runs this file on three replicas
simstrategy grade lesson_1.py        grades it
"""

import numpy as np

import simstrategy as ss

LESSON = 1
SEED = ""
ANSWERS = {"prediction": ..., 1: ..., 2: ..., 3: ...}


def draw(seed):
    """Returns a value for each of 4 replicas: [4] float32."""
    rng = np.random.default_rng(list(seed.encode()))
    return {"values": np.cumsum(rng.integers(1, 80, size=4)).astype(np.float32)[::-1] / 8}


def weighted(value):
    """Returns this replica's value times its rank plus one: [] float32.  It runs on every replica."""
    # hole: return the value times the rank plus one
    return value * np.float32(ss.get_replica_context().replica_id_in_sync_group + 1)
    # end of hole


def spread(strategy, values):
    """Returns the greatest minus the least of the replicas' values: [] float32.  It runs once, outside of replicas.

    values: what `strategy.run` returned: a PerReplica, or with one replica the value itself.
    """
    # hole: return the greatest minus the least value
    parts = strategy.experimental_local_results(values)
    return max(parts) - min(parts)
    # end of hole


def program(strategy, data=None):
    """Returns the weighted value of each replica, and their spread."""
    data = draw(SEED) if data is None else data
    values = strategy.experimental_distribute_values_from_function(
        lambda context: data["values"][context.replica_id_in_sync_group]
    )
    found = strategy.run(weighted, args=(values,))
    return {"weighted": found, "spread": spread(strategy, found)}
