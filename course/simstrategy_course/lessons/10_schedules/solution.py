"""Lesson 10: noise that does not depend on who runs first.

simstrategy run lesson_10.py --replicas 3        runs this file on three replicas
simstrategy grade lesson_10.py        grades it
"""

import numpy as np

import simstrategy as ss

LESSON = 10
SEED = ""
ANSWERS = {"prediction": ..., 1: ..., 2: ..., 3: ...}


def draw(seed):
    """Returns a value: [] float32."""
    rng = np.random.default_rng(list(seed.encode()))
    return {"value": np.float32(rng.integers(1, 80)) / 8}


def noisy(value):
    """Returns the value plus noise: [] float32.  The noise is another one on every replica and in every step.

    value: [] float32. The noise is the first `normal()` of a NumPy generator with a seed that the replica context gives
    for the label "noise". So it is the same in every run, whichever replica runs first.
    """
    # hole: return the value plus the noise
    rng = np.random.default_rng(ss.get_replica_context().seed("noise"))
    return value + np.float32(rng.normal())
    # end of hole


def program(strategy, data=None):
    """Returns the noisy value of each replica, in two steps."""
    data = draw(SEED) if data is None else data
    np.random.seed(7)
    return {f"step {step}": strategy.run(noisy, args=(data["value"],)) for step in range(2)}
