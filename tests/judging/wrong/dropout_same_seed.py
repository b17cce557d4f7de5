"""Dropout whose mask each replica draws for its own part, from a generator that is seeded alike everywhere."""

import numpy as np

import simstrategy as ss

KEEP = 0.75


def dropout(xp, activations, step):
    generator = np.random.default_rng(1000 + step)
    mask = generator.random(activations.shape) < KEEP  # wrong: the first rows of one mask on every replica
    return activations * xp.asarray(mask.astype(np.float32)) / KEEP


def program(strategy):
    rng = np.random.default_rng(9)
    x = rng.normal(size=(32, 8)).astype(np.float32)
    y = (x.sum(axis=1) > 0).astype(np.float32)
    dataset = ss.data.Dataset.from_tensor_slices((x, y)).batch(16)
    with strategy.scope():
        weights = ss.Variable(np.full(8, 0.1, np.float32), aggregation=ss.VariableAggregation.SUM, name="weights")

    def step(number, x, y):
        xp = ss.get_replica_context().xp
        dropped = dropout(xp, x, number)
        errors = 1 / (1 + xp.exp(-xp.matmul(dropped, weights.value()))) - y
        weights.assign_sub(xp.matmul(errors, dropped) / 16)  # shows

    for number, batch in enumerate(strategy.experimental_distribute_dataset(dataset)):
        strategy.run(step, args=(number, *batch))
    return weights.numpy()
