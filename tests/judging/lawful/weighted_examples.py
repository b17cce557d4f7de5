"""Examples have weights; the sum of all weights is all-reduced, and every replica divides by it."""

import numpy as np

import simstrategy as ss

ROWS, BATCH, RATE, POWER = 18, 9, 0.4, 2.0


def program(strategy):
    rng = np.random.default_rng(42)
    x = rng.normal(size=(ROWS, 2)).astype(np.float32)
    y = (x[:, 0] * 1.5 - x[:, 1]).astype(np.float32)
    importance = (rng.uniform(size=ROWS) ** POWER).astype(np.float32)
    with strategy.scope():
        theta = ss.Variable(np.zeros(2, np.float32), aggregation=ss.VariableAggregation.SUM, name="theta")

    def step(x, y, importance):
        ctx = ss.get_replica_context()
        xp = ctx.xp
        weight = ctx.all_reduce("SUM", xp.sum(importance))
        errors = importance * (xp.matmul(x, theta.value()) - y)
        gradient = xp.matmul(errors, x)
        theta.assign_sub(RATE * gradient / weight)
        return xp.sum(xp.abs(errors)) / weight

    history = []
    for batch in strategy.experimental_distribute_dataset(
        ss.data.Dataset.from_tensor_slices((x, y, importance)).batch(BATCH)
    ):
        history.append(strategy.reduce("SUM", strategy.run(step, args=batch)))
    return theta, history
