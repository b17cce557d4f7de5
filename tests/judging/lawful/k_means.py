"""K-means: sums and counts of all points are reduced before anything is divided; the program cuts its rows."""

import numpy as np

import simstrategy as ss

POINTS, CENTRES, ROUNDS = 25, 3, 3


def program(strategy):
    rng = np.random.default_rng(30)
    points = rng.normal(size=(POINTS, 2)).astype(np.float32)
    points = points + 2.0 * (np.arange(POINTS)[:, None] % CENTRES).astype(np.float32)

    def sums_and_counts(centres):
        ctx = ss.get_replica_context()
        xp = ctx.xp
        mine = xp.asarray(points[ctx.replica_id_in_sync_group :: ctx.num_replicas_in_sync])
        squares = xp.sum(xp.square(xp.expand_dims(mine, axis=1) - centres), axis=2)
        nearest = xp.expand_dims(xp.argmin(squares, axis=1), axis=1) == xp.arange(CENTRES, dtype="int32")
        nearest = xp.astype(nearest, "float32")
        sums = ctx.all_reduce("SUM", xp.matmul(xp.matrix_transpose(nearest), mine))
        counts = ctx.all_reduce("SUM", xp.sum(nearest, axis=0))
        return sums, counts

    centres = strategy.xp.asarray(points[:CENTRES])
    for _ in range(ROUNDS):
        sums, counts = (strategy.unwrap(one)[0] for one in strategy.run(sums_and_counts, args=(centres,)))
        centres = sums / strategy.xp.expand_dims(counts, axis=1)
    return {"centres": centres, "counts": counts}
