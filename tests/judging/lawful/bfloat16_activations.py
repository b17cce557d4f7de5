"""Activations in bfloat16, sums in float32: three decimal digits go into each product."""

import numpy as np

import simstrategy as ss


def program(strategy):
    rng = np.random.default_rng(140)
    x = rng.normal(size=(20, 4)).astype(np.float32)
    kernel = rng.normal(size=(4, 3)).astype(np.float32)

    def activity(rows):
        ctx = ss.get_replica_context()
        xp = ctx.xp
        narrow = xp.maximum(xp.matmul(xp.astype(rows, "bfloat16"), xp.astype(xp.asarray(kernel), "bfloat16")), 0.0)
        return ctx.all_reduce("SUM", xp.sum(xp.astype(narrow, "float32"), axis=0))

    sparsity = []
    for rows in strategy.experimental_distribute_dataset(ss.data.Dataset.from_tensor_slices(x).batch(10)):
        sparsity.append(strategy.unwrap(strategy.run(activity, args=(rows,)))[0] / 10.0)
    return sparsity
