"""The first principal component of centred rows: the mean of all rows is reduced first."""

import numpy as np

import simstrategy as ss


def centred_mean(ctx, rows):
    total = ctx.all_reduce("SUM", ctx.xp.sum(rows, axis=0))
    count = ctx.all_reduce("SUM", ctx.xp.full((), rows.shape[0], dtype="float32"))
    return total / count


def program(strategy):
    rng = np.random.default_rng(36)
    table = (rng.normal(size=(27, 4)) * np.array([3.0, 1.0, 0.5, 0.2]) + 5.0).astype(np.float32)

    def iterate(rows):
        ctx = ss.get_replica_context()
        xp = ctx.xp
        rows = rows - centred_mean(ctx, rows)
        direction = xp.ones(4)
        for _ in range(4):
            direction = ctx.all_reduce("SUM", xp.matmul(xp.matmul(rows, direction), rows))
            direction = direction / xp.sqrt(xp.sum(xp.square(direction)))
        return direction

    (rows,) = strategy.experimental_distribute_dataset([table])
    return strategy.experimental_local_results(strategy.run(iterate, args=(rows,)))[0]
