"""A step counter that all replicas raise together, by a mean; the rate warms up with it."""

import numpy as np

import simstrategy as ss

WARM = 3.0


def program(strategy):
    values = np.random.default_rng(67).laplace(1.0, size=(5, 7)).astype(np.float32)
    with strategy.scope():
        counter = ss.Variable(0.0, aggregation=ss.VariableAggregation.MEAN, name="counter", trainable=False)
        location = ss.Variable(0.0, aggregation=ss.VariableAggregation.SUM, name="location")

    def step(rows):
        xp = ss.get_replica_context().xp
        counter.assign_add(xp.ones(()))
        rate = xp.minimum(counter.value() / WARM, 1.0)
        location.assign_add(rate * xp.sum(xp.tanh(rows - location.value())) / 7.0)

    for rows in strategy.experimental_distribute_dataset(values):
        strategy.run(step, args=(rows,))
    return [location.numpy(), counter.numpy()]
