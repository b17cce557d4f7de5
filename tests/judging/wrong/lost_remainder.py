"""K-means on 26 points; each replica takes `len(points) // replicas` of them."""

import numpy as np

import simstrategy as ss

RNG = np.random.default_rng(23)
POINTS = np.concatenate([RNG.normal(c, 0.6, size=(13, 2)) for c in (-1.5, 1.5)]).astype(np.float32)


def my_points(ctx):
    each = len(POINTS) // ctx.num_replicas_in_sync  # wrong: the remainder is lost
    start = ctx.replica_id_in_sync_group * each
    return ctx.xp.asarray(POINTS[start : start + each])


def assign_and_sum(centres):
    ctx = ss.get_replica_context()
    xp, points = ctx.xp, my_points(ctx)
    squares = xp.sum(xp.square(xp.expand_dims(points, axis=1) - centres), axis=2)
    nearest = xp.astype(xp.expand_dims(xp.argmin(squares, axis=1), axis=1) == xp.arange(2), "float32")
    sums = xp.matmul(xp.matrix_transpose(nearest), points)
    return ctx.all_reduce("SUM", (sums, xp.sum(nearest, axis=0)))  # shows


def program(strategy):
    centres = strategy.xp.asarray(np.float32([[-1.0, 0.0], [0.5, 0.5]]))
    for _ in range(3):
        sums, counts = (strategy.unwrap(one)[0] for one in strategy.run(assign_and_sum, args=(centres,)))
        centres = sums / strategy.xp.expand_dims(counts, axis=1)
    return {"centres": centres, "sizes": counts}
