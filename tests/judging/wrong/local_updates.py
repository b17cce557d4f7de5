"""Weights in ON_READ variables: each replica goes its own way, and they are averaged when they are read."""

import numpy as np

import simstrategy as ss


def program(strategy):
    rng = np.random.default_rng(81)
    x = rng.normal(size=(48, 2)).astype(np.float32)
    y = np.sign(x[:, 0] + 0.5 * x[:, 1] + 0.2 * rng.normal(size=48)).astype(np.float32)
    with strategy.scope():
        weights = ss.Variable(
            np.zeros(2, np.float32),
            synchronization=ss.VariableSynchronization.ON_READ,
            aggregation=ss.VariableAggregation.MEAN,
            name="weights",
        )

    def hinge_step(x, y):
        xp = ss.get_replica_context().xp
        inside = xp.astype(y * xp.matmul(x, weights.value()) < 1, "float32")
        gradient = -xp.matmul(inside * y, x) / x.shape[0]
        weights.assign_sub(0.5 * gradient)  # wrong: this replica's gradient, reduced with no other

    batches = ss.data.Dataset.from_tensor_slices((x, y)).batch(12)
    for batch in strategy.experimental_distribute_dataset(batches):
        strategy.run(hinge_step, args=batch)
    with strategy.scope():
        return weights.value()
