"""The norm is that of the whole gradient: it is all-reduced, clipped, and applied."""

import numpy as np

import simstrategy as ss

ROWS, BATCH, LIMIT, VALUE = 20, 10, 0.8, 0.5


def program(strategy):
    rng = np.random.default_rng(55)
    x = rng.normal(size=(ROWS, 3)).astype(np.float32)
    y = (4.0 * x[:, 0] - 3.0 * x[:, 2]).astype(np.float32)

    def step(weights, x, y):
        ctx = ss.get_replica_context()
        xp = ctx.xp
        errors = xp.matmul(x, weights) - y
        gradient = ctx.all_reduce("SUM", xp.matmul(errors, x) / BATCH)
        norm = xp.sqrt(xp.sum(xp.square(gradient)))
        clipped = gradient * (LIMIT / xp.maximum(norm, LIMIT))
        offset = xp.clip(ctx.all_reduce("SUM", xp.sum(errors)), -VALUE, VALUE)
        return weights - clipped, norm, offset

    weights, norms, offsets = strategy.xp.zeros(3), [], []
    for batch in strategy.experimental_distribute_dataset(
        ss.data.Dataset.from_tensor_slices((x, y)).batch(BATCH).repeat(2)
    ):
        results = strategy.run(step, args=(weights, *batch))
        weights, norm, offset = (strategy.experimental_local_results(one)[0] for one in results)
        norms.append(norm)
        offsets.append(offset)
    return {"weights": weights, "norms": norms, "offsets": offsets}
