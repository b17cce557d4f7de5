"""Gradients are accumulated over so many global batches, whatever the replicas, and applied once."""

import numpy as np

import simstrategy as ss

WINDOW, BATCH, RATE = 3, 5, 0.2


def program(strategy):
    rng = np.random.default_rng(59)
    x = rng.normal(size=(30, 2)).astype(np.float32)
    y = (x @ np.float32([0.5, 2.0])).astype(np.float32)
    on_read = {"synchronization": ss.VariableSynchronization.ON_READ, "aggregation": ss.VariableAggregation.SUM}
    with strategy.scope():
        weights = ss.Variable(np.zeros(2, np.float32), name="weights")
        pending = ss.Variable(np.zeros(2, np.float32), name="pending", **on_read)

    def accumulate(x, y):
        xp = ss.get_replica_context().xp
        errors = xp.matmul(x, weights.value()) - y
        pending.assign_add(xp.matmul(errors, x))

    batches = ss.data.Dataset.from_tensor_slices((x, y)).batch(BATCH)
    with strategy.scope():
        for number, batch in enumerate(strategy.experimental_distribute_dataset(batches), start=1):
            strategy.run(accumulate, args=batch)
            if number % WINDOW == 0:
                weights.assign_sub(RATE * pending.value() / (WINDOW * BATCH))
                pending.assign(np.zeros(2, np.float32))
    return weights.numpy()
