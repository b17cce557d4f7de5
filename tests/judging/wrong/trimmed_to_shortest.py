"""Pairwise ranking of answers in windows of ten; parts are trimmed to the shortest one, so that they can be stacked."""

import numpy as np

import simstrategy as ss

WINDOW = 10


def my_part(window, ctx):
    parts = np.array_split(window, ctx.num_replicas_in_sync)
    shortest = min(len(part) for part in parts)
    return parts[ctx.replica_id_in_sync_group][:shortest]  # wrong: what is longer is cut off


def program(strategy):
    values = np.random.default_rng(60).exponential(size=(4, WINDOW)).astype(np.float32)
    read = {"synchronization": ss.VariableSynchronization.ON_READ, "aggregation": ss.VariableAggregation.SUM}
    with strategy.scope():
        seen = ss.Variable(0.0, name="seen", **read)
        pairs = ss.Variable(0.0, name="pairs", **read)

    def accumulate(window):
        ctx = ss.get_replica_context()
        rows = ctx.xp.asarray(my_part(window, ctx))
        everything = ctx.all_gather(rows, axis=0)  # shows
        above = ctx.xp.expand_dims(rows, axis=1) > everything
        pairs.assign_add(ctx.xp.sum(ctx.xp.astype(above, "float32")))  # shows
        seen.assign_add(float(rows.shape[0]))  # shows

    for window in values:
        strategy.run(accumulate, args=(window,))
    with strategy.scope():
        return {"pairs": pairs.value(), "rows": seen.value()}
