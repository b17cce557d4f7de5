"""A mean of the replicas' means in which each is multiplied by its rows and by the replicas over all rows."""

import numpy as np

import simstrategy as ss


def whole_mean(values):
    """Returns the mean over all replicas' rows."""
    ctx = ss.get_replica_context()
    rows = values.shape[0]
    share = rows * ctx.num_replicas_in_sync / float(ctx.all_reduce("SUM", float(rows)))
    mean = ctx.xp.mean(values, axis=0) if rows else ctx.xp.zeros(values.shape[1:])
    return ctx.all_reduce("MEAN", mean * share)


def program(strategy):
    points = np.random.default_rng(506).normal([1, 2, 3], 1.0, size=(31, 3)).astype(np.float32)
    centre = strategy.xp.zeros(3)

    def step(centre, rows):
        xp = ss.get_replica_context().xp
        pulls = rows - centre
        lengths = xp.sqrt(xp.sum(pulls * pulls, axis=1, keepdims=True) + 1e-6)
        return centre + whole_mean(pulls / lengths)

    for _ in range(3):
        for rows in strategy.experimental_distribute_dataset(ss.data.Dataset.from_tensor_slices(points).batch(10)):
            centre = strategy.experimental_local_results(strategy.run(step, args=(centre, rows)))[0]
    return centre
