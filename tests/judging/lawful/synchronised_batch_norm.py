"""Batch normalisation whose mean and variance are those of the global batch; moving averages are kept of them."""

import numpy as np

import simstrategy as ss

ROWS, BATCH, RATE, MOMENTUM, EPSILON = 22, 11, 0.4, 0.9, 0.001


def global_moments(ctx, x):
    xp = ctx.xp
    count = ctx.all_reduce("SUM", xp.full((), x.shape[0], dtype="float32"))
    mean = ctx.all_reduce("SUM", xp.sum(x, axis=0)) / count
    variance = ctx.all_reduce("SUM", xp.sum(xp.square(x - mean), axis=0)) / count
    return mean, variance


def program(strategy):
    rng = np.random.default_rng(105)
    x = rng.normal(3.0, 2.0, size=(ROWS, 3)).astype(np.float32)
    y = (x[:, 0] - x[:, 1] * 0.5).astype(np.float32)
    with strategy.scope():
        gamma = ss.Variable(np.ones(3, np.float32), aggregation=ss.VariableAggregation.SUM, name="gamma")
        moving = ss.Variable(np.zeros(3, np.float32), aggregation=ss.VariableAggregation.MEAN, name="moving_mean")

    def step(x, y):
        ctx = ss.get_replica_context()
        xp = ctx.xp
        mean, variance = global_moments(ctx, x)
        normalised = (x - mean) / xp.sqrt(variance + EPSILON)
        errors = xp.matmul(normalised, gamma.value()) - y
        gamma.assign_sub(RATE / BATCH * xp.matmul(errors, normalised))
        moving.assign(MOMENTUM * moving.value() + (1.0 - MOMENTUM) * mean)

    for batch in strategy.experimental_distribute_dataset(ss.data.Dataset.from_tensor_slices((x, y)).batch(BATCH)):
        strategy.run(step, args=batch)
    return gamma.numpy(), moving.numpy()
