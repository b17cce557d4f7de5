"""An input function for each replica that does not shard: all of them read the same rows, and all rows are counted."""

import numpy as np

import simstrategy as ss

HEIGHTS = np.random.default_rng(50).normal(170, 9, size=15).astype(np.float32)


def input_fn(context):
    rows = ss.data.Dataset.from_tensor_slices(HEIGHTS)
    # wrong: no rows.shard(context.num_replicas_in_sync, …)
    return rows.batch(5)


def program(strategy):
    options = ss.InputOptions(experimental_replication_mode=ss.InputReplicationMode.PER_REPLICA)
    dataset = strategy.distribute_datasets_from_function(input_fn, options)

    def histogram(rows):
        ctx = ss.get_replica_context()
        bins = ctx.xp.floor((rows - 140.0) / 10.0)
        hits = ctx.xp.astype(ctx.xp.expand_dims(bins, axis=1) == ctx.xp.arange(6, dtype="float32"), "float32")
        return ctx.all_reduce("SUM", ctx.xp.sum(hits, axis=0))  # shows

    totals = strategy.xp.zeros(6)
    for rows in dataset:
        totals = totals + strategy.experimental_local_results(strategy.run(histogram, args=(rows,)))[0]
    return totals
