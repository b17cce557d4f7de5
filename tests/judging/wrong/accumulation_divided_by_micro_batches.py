"""The micro-batches of a step are those of all replicas; the sum is divided by how many this replica has."""

import numpy as np

import simstrategy as ss

MICRO = 3


def micro_batches(ctx, rows):
    """Yields this replica's micro-batches of MICRO rows each: every so many-th one."""
    world, rank = ctx.num_replicas_in_sync, ctx.replica_id_in_sync_group
    for number in range(rank, len(rows) // MICRO, world):
        yield ctx.xp.asarray(rows[number * MICRO : (number + 1) * MICRO])


def program(strategy):
    epochs = np.random.default_rng(52).normal(2.0, 1.0, size=(3, 36)).astype(np.float32)
    location = strategy.xp.zeros(())

    def step(location, rows):
        ctx = ss.get_replica_context()
        accumulated, done = ctx.xp.zeros(()), 0
        for micro in micro_batches(ctx, rows):
            accumulated = accumulated + ctx.xp.mean(ctx.xp.tanh(micro - location))
            done += 1
        share = accumulated / done  # wrong: the window is that of all replicas
        return location + 0.5 * ctx.all_reduce("SUM", share)  # shows

    path = []
    for rows in epochs:
        location = strategy.experimental_local_results(strategy.run(step, args=(location, rows)))[0]
        path.append(location)
    return strategy.xp.stack(path)
