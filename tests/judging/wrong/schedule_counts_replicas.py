"""Inverse-time decay of the rate by a step counter, which every replica raises by one."""

import numpy as np

import simstrategy as ss

Agg = ss.VariableAggregation


def program(strategy):
    rng = np.random.default_rng(65)
    images = rng.uniform(size=(40, 6)).astype(np.float32)
    with strategy.scope():
        steps = ss.Variable(np.float32(0), aggregation=Agg.SUM, trainable=False, name="global_step")
        filters = ss.Variable(np.eye(6, 2, dtype=np.float32), aggregation=Agg.SUM, name="filters")

    def oja(batch):
        """One step of Oja's rule for the first two components."""
        xp = ss.get_replica_context().xp
        outputs = xp.matmul(batch, filters.value())
        hebbian = xp.matmul(xp.matrix_transpose(batch), outputs)
        decay = xp.matmul(filters.value(), xp.matmul(xp.matrix_transpose(outputs), outputs))
        rate = 0.3 / (1.0 + steps.value())
        filters.assign_add((rate / 10.0) * (hebbian - decay))
        steps.assign_add(xp.ones(()))  # wrong: adds the number of replicas

    for batch in strategy.experimental_distribute_dataset(
        ss.data.Dataset.from_tensor_slices(images).batch(10, drop_remainder=True)
    ):
        strategy.run(oja, args=(batch,))
    return filters.numpy()
