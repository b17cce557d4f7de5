"""A median by bisection: the number of values below is counted on all replicas, so no replica takes its own."""

import numpy as np

import simstrategy as ss

SALARIES = np.random.default_rng(79).lognormal(3.0, 0.5, size=33).astype(np.float32)


def program(strategy):
    def part(context):
        return np.array_split(SALARIES, context.num_replicas_in_sync)[context.replica_id_in_sync_group]

    parts = strategy.experimental_distribute_values_from_function(part)

    def median(values):
        ctx = ss.get_replica_context()
        xp = ctx.xp
        values = xp.asarray(values)
        low, high = 0.0, 200.0
        for _ in range(20):
            middle = (low + high) / 2
            below = ctx.all_reduce("SUM", xp.sum(xp.astype(values <= middle, "int32")))
            low, high = (low, middle) if int(below) >= 17 else (middle, high)
        return high

    return strategy.unwrap(strategy.run(median, args=(parts,)))[0]
