"""The rate is multiplied by the replicas on purpose: shares of the gradient are averaged, not summed."""

import numpy as np

import simstrategy as ss

ROWS, BATCH, BASE_RATE = 24, 8, 0.3


def program(strategy):
    rng = np.random.default_rng(170)
    x = rng.normal(size=(ROWS, 2)).astype(np.float32)
    y = (x @ np.float32([-1.0, 1.0]) + 0.5).astype(np.float32)
    rate = BASE_RATE * strategy.num_replicas_in_sync

    def step(weights, x, y):
        ctx = ss.get_replica_context()
        errors = ctx.xp.matmul(x, weights) - y
        gradient = ctx.xp.matmul(errors, x) / BATCH
        return weights - rate * ctx.all_reduce("MEAN", gradient)

    weights = strategy.xp.zeros(2)
    for batch in strategy.experimental_distribute_dataset(ss.data.Dataset.from_tensor_slices((x, y)).batch(BATCH)):
        weights = strategy.experimental_local_results(strategy.run(step, args=(weights, *batch)))[0]
    return weights
