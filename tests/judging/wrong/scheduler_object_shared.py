"""A scheduler that is an object of Python: each replica calls its step(), and they share the object."""

import numpy as np

import simstrategy as ss


class StepDecay:
    """Halves the rate after every four calls of `step`."""

    def __init__(self, rate):
        self.rate, self.calls = rate, 0

    def step(self):
        self.calls += 1  # wrong: once per replica
        if self.calls % 4 == 0:
            self.rate /= 2


def program(strategy):
    scheduler = StepDecay(0.4)
    rng = np.random.default_rng(88)
    features = rng.normal(size=(60, 2)).astype(np.float32)
    labels = (features @ np.float32([1.0, 1.0]) > 0.3).astype(np.float32)

    def step(weights, batch):
        ctx = ss.get_replica_context()
        x, y = batch
        errors = 1 / (1 + ctx.xp.exp(-ctx.xp.matmul(x, weights))) - y
        gradient = ctx.all_reduce("SUM", ctx.xp.matmul(errors, x)) / 6  # shows
        scheduler.step()
        return gradient

    weights = strategy.xp.zeros(2)
    with strategy.scope():
        for batch in strategy.experimental_distribute_dataset(
            ss.data.Dataset.from_tensor_slices((features, labels)).batch(6)
        ):
            gradient = strategy.run(step, args=(weights, batch))  # shows
            weights = weights - scheduler.rate * strategy.unwrap(gradient)[0]
    return weights
