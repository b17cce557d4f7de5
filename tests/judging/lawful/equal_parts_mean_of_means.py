"""Means of means, and right: batches of twelve with the remainder dropped have equal parts for 1 to 4 replicas."""

import numpy as np

import simstrategy as ss

BATCH = 12


def program(strategy):
    rng = np.random.default_rng(120)
    prices = rng.lognormal(size=(40, 2)).astype(np.float32)
    dataset = ss.data.Dataset.from_tensor_slices(prices).batch(BATCH, drop_remainder=True)
    with strategy.scope():
        level = ss.Variable(np.zeros(2, np.float32), aggregation=ss.VariableAggregation.MEAN, name="level")

    def follow(part):
        xp = ss.get_replica_context().xp
        level.assign_add(0.5 * (xp.mean(part, axis=0) - level.value()))
        return xp.mean(part)

    means = [
        strategy.reduce("MEAN", strategy.run(follow, args=(part,)))
        for part in strategy.experimental_distribute_dataset(dataset)
    ]
    return level.numpy(), means
