"""Ridge regression in which each replica adds the penalty to its share of the gradient, so it is added N times."""

import numpy as np

import simstrategy as ss

PENALTY = 0.3


def program(strategy):
    rng = np.random.default_rng(195)
    design = rng.normal(size=(28, 3)).astype(np.float32)
    response = (design @ np.float32([3.0, 0.0, -2.0]) + rng.normal(size=28)).astype(np.float32)
    with strategy.scope():
        coefficients = ss.Variable(np.ones(3, np.float32), name="coefficients")

    def gradient_of_loss(rows, targets):
        xp = ss.get_replica_context().xp
        values = coefficients.value()
        fit = xp.matmul(xp.matmul(rows, values) - targets, rows) / 14.0
        return fit + PENALTY * values  # wrong: not divided by the number of replicas

    for rows, targets in strategy.experimental_distribute_dataset(
        ss.data.Dataset.from_tensor_slices((design, response)).batch(14)
    ):
        shares = strategy.run(gradient_of_loss, args=(rows, targets))
        with strategy.scope():
            coefficients.assign_sub(0.3 * strategy.reduce("SUM", shares))  # shows
    return coefficients.numpy()
