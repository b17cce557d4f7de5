"""Linear regression by gradient descent; shares of the gradient are summed by the variables."""

import numpy as np

import simstrategy as ss

ROWS, BATCH, RATE = 22, 8, 0.3
TRUTH = np.float32([1.0, -2.0, 0.5])


def program(strategy):
    rng = np.random.default_rng(2)
    x = rng.normal(size=(ROWS, 3)).astype(np.float32)
    y = x @ TRUTH
    dataset = ss.data.Dataset.from_tensor_slices((x, y)).batch(BATCH)
    with strategy.scope():
        weights = ss.Variable(np.zeros(3, np.float32), aggregation=ss.VariableAggregation.SUM, name="weights")
        bias = ss.Variable(np.float32(0), aggregation=ss.VariableAggregation.SUM, name="bias")

    def step(x, y):
        xp = ss.get_replica_context().xp
        errors = xp.matmul(x, weights.value()) + bias.value() - y
        gradient = xp.matmul(errors, x)
        total = xp.sum(errors)
        weights.assign_sub(RATE * gradient / BATCH)
        bias.assign_sub(RATE * total / BATCH)
        return xp.square(errors)

    losses = []
    for x_part, y_part in strategy.experimental_distribute_dataset(dataset):
        squares = strategy.run(step, args=(x_part, y_part))
        losses.append(strategy.reduce("MEAN", squares, axis=0))
    return losses
