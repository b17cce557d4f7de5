"""Mean and variance of a stream: replicas keep counts and sums of squares, which are merged by Chan's formula."""

import numpy as np

import simstrategy as ss


def chan(xp, one, two):
    """Merges (count, mean, sum of squares) of two sets of rows; either may be empty."""
    count = one[0] + two[0]
    delta = two[1] - one[1]
    share = two[0] / xp.maximum(count, 1.0)
    return count, one[1] + delta * share, one[2] + two[2] + delta * delta * one[0] * share


def moments(xp, rows):
    count = xp.full((), rows.shape[0], dtype="float32")
    mean = xp.sum(rows) / xp.maximum(count, 1.0)
    return count, mean, xp.sum(xp.square(rows - mean))


def program(strategy):
    stream = np.random.default_rng(71).normal(100.0, 3.0, size=17).astype(np.float32)
    state = (strategy.xp.zeros(()), strategy.xp.zeros(()), strategy.xp.zeros(()))
    for rows in strategy.experimental_distribute_dataset(ss.data.Dataset.from_tensor_slices(stream).batch(5)):
        parts = strategy.run(lambda part: moments(ss.get_replica_context().xp, part), args=(rows,))
        local = zip(*(strategy.experimental_local_results(one) for one in parts), strict=True)
        for part in local:
            state = chan(strategy.xp, state, part)
    count, mean, squares = state
    return {"count": count, "mean": mean, "variance": squares / count}
