"""Sums and counts are all-reduced together, and divided once: right for parts of any size, empty ones included."""

import numpy as np

import simstrategy as ss

ROWS, BATCH, RATE, STEPS = 13, 4, 0.5, 2


def program(strategy):
    rng = np.random.default_rng(4)
    x = rng.normal(size=(ROWS, 2)).astype(np.float32)
    labels = (x[:, 0] > x[:, 1]).astype(np.float32)

    def step(weights, x, labels):
        ctx = ss.get_replica_context()
        xp = ctx.xp
        probabilities = 1.0 / (1.0 + xp.exp(-xp.matmul(x, weights)))
        errors = probabilities - labels
        gradient = xp.matmul(errors, x)
        loss = -xp.sum(xp.log(xp.abs(1.0 - labels - probabilities)))
        count = xp.full((), x.shape[0], dtype="float32")
        gradient = ctx.all_reduce("SUM", gradient)
        loss = ctx.all_reduce("SUM", loss)
        count = ctx.all_reduce("SUM", count)
        return weights - RATE * gradient / count, loss / count

    weights, losses = strategy.xp.zeros(2), []
    dataset = ss.data.Dataset.from_tensor_slices((x, labels)).batch(BATCH).repeat(STEPS)
    for batch in strategy.experimental_distribute_dataset(dataset):
        weights, loss = (strategy.unwrap(one)[0] for one in strategy.run(step, args=(weights, *batch)))
        losses.append(loss)
    return {"weights": weights, "losses": losses}
