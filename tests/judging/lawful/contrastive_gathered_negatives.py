"""Contrastive scores of each replica's rows against the rows of all replicas, which are gathered."""

import numpy as np

import simstrategy as ss


def program(strategy):
    rng = np.random.default_rng(507)
    anchors = rng.normal(size=(20, 3)).astype(np.float32)
    positives = (anchors + 0.3 * rng.normal(size=(20, 3))).astype(np.float32)
    with strategy.scope():
        scale = ss.Variable(np.ones(3, np.float32), aggregation=ss.VariableAggregation.SUM, name="scale")

    def step(numbers, anchor, positive):
        ctx = ss.get_replica_context()
        xp = ctx.xp
        others, owners = ctx.all_gather(positive, axis=0), ctx.all_gather(numbers, axis=0)
        scores = xp.matmul(anchor * scale.value(), xp.matrix_transpose(others))
        powers = xp.exp(scores)
        excess = powers / xp.sum(powers, axis=1, keepdims=True)
        excess = excess - xp.astype(xp.expand_dims(numbers, axis=1) == owners, "float32")
        scale.assign_sub(0.05 * xp.sum(anchor * xp.matmul(excess, others), axis=0) / 10)

    rows = ss.data.Dataset.from_tensor_slices((np.arange(20), anchors, positives)).batch(10)
    for batch in strategy.experimental_distribute_dataset(rows):
        strategy.run(step, args=batch)
    return scale.numpy()
