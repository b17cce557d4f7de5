"""Adagrad whose sum of squares is that of each replica's own gradients; the scaled gradients are then summed."""

import numpy as np

import simstrategy as ss


def program(strategy):
    rng = np.random.default_rng(405)
    inputs = rng.uniform(-1, 1, size=(40, 3)).astype(np.float32)
    outputs = (inputs @ np.float32([2.0, -1.0, 0.5]) + 0.1 * rng.normal(size=40)).astype(np.float32)
    with strategy.scope():
        accumulator = ss.Variable(
            np.full(3, 0.01, np.float32),
            synchronization=ss.VariableSynchronization.ON_READ,
            aggregation=ss.VariableAggregation.MEAN,
            trainable=False,
            name="accumulator",
        )
        weights = ss.Variable(np.zeros(3, np.float32), aggregation=ss.VariableAggregation.SUM, name="weights")

    def adagrad(gradient):
        accumulator.assign_add(gradient * gradient)  # wrong: squares of a share of the gradient
        return gradient / ss.get_replica_context().xp.sqrt(accumulator.value())

    def step(x, y):
        xp = ss.get_replica_context().xp
        errors = xp.matmul(x, weights.value()) - y
        weights.assign_sub(0.2 * adagrad(xp.matmul(errors, x) / 8))  # shows

    data = ss.data.Dataset.from_tensor_slices((inputs, outputs)).shuffle(40, seed=3).batch(8)
    for x, y in strategy.experimental_distribute_dataset(data):
        strategy.run(step, args=(x, y))
    return weights.numpy()
