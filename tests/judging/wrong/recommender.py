"""A recommender whose layers and optimizer are in files of their own; the program itself is right."""

import numpy as np
from shared_code.layers import embed, whitened
from shared_code.optimisers import GradientDescent

import simstrategy as ss


def program(strategy):
    rng = np.random.default_rng(210)
    items = rng.integers(0, 6, size=20).astype(np.int32)
    clicks = (items % 2).astype(np.float32)
    table = rng.normal(size=(6, 3)).astype(np.float32)
    with strategy.scope():
        head = ss.Variable(np.zeros(3, np.float32), name="head")
    optimiser = GradientDescent(rate=0.5)

    def train_step(items, clicks):
        xp = ss.get_replica_context().xp
        vectors = whitened(embed(xp.asarray(table), items))
        errors = 1 / (1 + xp.exp(-xp.matmul(vectors, head.value()))) - clicks
        optimiser.minimise([head], [xp.matmul(errors, vectors) / 10.0])

    rows = ss.data.Dataset.from_tensor_slices((items, clicks)).batch(10)
    for batch in strategy.experimental_distribute_dataset(rows):
        strategy.run(train_step, args=batch)
    return head.numpy()
