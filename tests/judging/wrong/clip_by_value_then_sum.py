"""Gradients are clipped elementwise in the replica, and only then all-reduced."""

import numpy as np

import simstrategy as ss


class Regression:
    """Poisson regression; kept in plain arrays, which every replica updates alike."""

    def __init__(self, strategy, features):
        self.strategy = strategy
        self.weights = strategy.xp.zeros(features)

    def fit(self, batches):
        for batch in batches:
            results = self.strategy.run(self.gradient, args=(*batch, self.weights))
            self.weights = self.weights - 0.05 * self.strategy.experimental_local_results(results)[0]
        return self.weights

    @staticmethod
    def gradient(x, counts, weights):
        ctx = ss.get_replica_context()
        rates = ctx.xp.exp(ctx.xp.matmul(x, weights))
        gradient = ctx.xp.matmul(rates - counts, x)
        return ctx.all_reduce("SUM", ctx.xp.clip(gradient, -4.0, 4.0))  # wrong: clipped before the sum


def program(strategy):
    rng = np.random.default_rng(40)
    x = rng.normal(size=(40, 4)).astype(np.float32)
    counts = rng.poisson(np.exp(x @ [0.6, -0.4, 0.0, 0.8])).astype(np.float32)
    dataset = ss.data.Dataset.from_tensor_slices((x, counts)).batch(20)
    return Regression(strategy, 4).fit(strategy.experimental_distribute_dataset(dataset))
