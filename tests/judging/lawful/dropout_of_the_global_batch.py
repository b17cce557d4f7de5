"""Dropout: the mask is drawn once for the global batch, and travels with its rows."""

import numpy as np

import simstrategy as ss

KEEP = 0.7


def with_masks(batches, seed):
    """Yields each batch with a mask of its own."""
    generator = np.random.default_rng(seed)
    for x, y in batches:
        yield x, y, (generator.random(x.shape) < KEEP).astype(np.float32) / np.float32(KEEP)


def program(strategy):
    rng = np.random.default_rng(110)
    x = rng.normal(size=(30, 6)).astype(np.float32)
    y = (x[:, :2].sum(axis=1) > 0).astype(np.float32)
    rows = ss.data.Dataset.from_tensor_slices((x, y)).batch(15)
    with strategy.scope():
        w = ss.Variable(np.zeros(6, np.float32), aggregation=ss.VariableAggregation.SUM, name="w")

    def step(x, y, mask):
        xp = ss.get_replica_context().xp
        kept = x * mask
        w.assign_sub(xp.matmul(1 / (1 + xp.exp(-xp.matmul(kept, w.value()))) - y, kept) / 15)

    masked = ss.data.Dataset.from_generator(lambda: with_masks(rows, seed=3))
    for batch in strategy.experimental_distribute_dataset(masked):
        strategy.run(step, args=batch)
    return w.numpy()
