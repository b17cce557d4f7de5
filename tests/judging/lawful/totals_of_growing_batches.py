"""Batches of four rows per replica; only totals over the whole data set are kept, so their size does not matter."""

import numpy as np

import simstrategy as ss


def program(strategy):
    data = np.random.default_rng(501).normal(size=(37, 3)).astype(np.float32)
    batches = ss.data.Dataset.from_tensor_slices(data).batch(4 * strategy.num_replicas_in_sync)
    with strategy.scope():
        outer = ss.Variable(np.zeros((3, 3), np.float64), aggregation=ss.VariableAggregation.SUM, name="outer")
        total = ss.Variable(np.zeros(3, np.float64), aggregation=ss.VariableAggregation.SUM, name="total")

    def observe(rows):
        xp = ss.get_replica_context().xp
        wide = xp.astype(rows, "float64")
        outer.assign_add(xp.matmul(xp.matrix_transpose(wide), wide))
        total.assign_add(xp.sum(wide, axis=0))

    for rows in strategy.experimental_distribute_dataset(batches):
        strategy.run(observe, args=(rows,))
    mean = total.numpy() / 37
    return outer.numpy() / 37 - np.outer(mean, mean)
