"""ON_READ totals: replicas have other shares for every number of them, and the total is what it was."""

import numpy as np

import simstrategy as ss

Sync, Agg = ss.VariableSynchronization, ss.VariableAggregation


class Mean:
    """A metric: a total and a count, which replicas keep for themselves."""

    def __init__(self, name):
        self.total = ss.Variable(0.0, synchronization=Sync.ON_READ, aggregation=Agg.SUM, name=f"{name}_total")
        self.count = ss.Variable(0.0, synchronization=Sync.ON_READ, aggregation=Agg.SUM, name=f"{name}_count")

    def update(self, values):
        self.total.assign_add(ss.get_replica_context().xp.sum(values))
        self.count.assign_add(float(values.shape[0]))

    def result(self):
        return float(self.total.value()) / float(self.count.value())


def program(strategy):
    heights = np.random.default_rng(150).normal(1.7, 0.1, size=23).astype(np.float32)
    with strategy.scope():
        mean, squares = Mean("height"), Mean("square")

    def update(part):
        mean.update(part)
        squares.update(part * part)

    for part in strategy.experimental_distribute_dataset(ss.data.Dataset.from_tensor_slices(heights).batch(7)):
        strategy.run(update, args=(part,))
    with strategy.scope():
        return {"mean": mean.result(), "mean square": squares.result(), "variables": (mean.total, mean.count)}
