"""Rows are shuffled with a seed, anew in every epoch, before the batches are made and cut."""

import numpy as np

import simstrategy as ss

ROWS, BATCH, RATE, EPOCHS, SEED = 20, 6, 0.2, 2, 9


def program(strategy):
    rng = np.random.default_rng(145)
    x = rng.normal(size=(ROWS, 2)).astype(np.float32)
    y = np.tanh(x @ np.float32([2.0, -1.0])).astype(np.float32)
    dataset = ss.data.Dataset.from_tensor_slices((x, y)).shuffle(ROWS, seed=SEED).repeat(EPOCHS).batch(BATCH)
    with strategy.scope():
        w = ss.Variable(np.zeros(2, np.float32), aggregation=ss.VariableAggregation.SUM, name="w")

    def step(x, y):
        xp = ss.get_replica_context().xp
        outputs = xp.tanh(xp.matmul(x, w.value()))
        slopes = (outputs - y) * (1.0 - outputs * outputs)
        w.assign_sub(RATE * xp.matmul(slopes, x) / BATCH)
        return xp.square(outputs - y)

    losses = []
    for batch in strategy.experimental_distribute_dataset(dataset):
        losses.append(strategy.reduce("SUM", strategy.run(step, args=batch), axis=0))
    return losses
