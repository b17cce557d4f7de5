"""Each replica pads its part to one length with copies of rows; a mask keeps the copies out of all sums."""

import numpy as np

import simstrategy as ss

ROWS = np.random.default_rng(509).normal(size=(17, 2)).astype(np.float32)


def padded_part(rank, replicas):
    size = -(-len(ROWS) // replicas)
    numbers = np.arange(rank * size, (rank + 1) * size)
    return ROWS[numbers % len(ROWS)], (numbers < len(ROWS)).astype(np.float32)


def program(strategy):
    read = {"synchronization": ss.VariableSynchronization.ON_READ, "aggregation": ss.VariableAggregation.SUM}
    with strategy.scope():
        true = ss.Variable(0.0, name="true", **read)
        seen = ss.Variable(0.0, name="seen", **read)

    def evaluate(bound):
        ctx = ss.get_replica_context()
        rows, mask = padded_part(ctx.replica_id_in_sync_group, ctx.num_replicas_in_sync)
        hits = ctx.xp.astype(ctx.xp.asarray(rows[:, 0] * rows[:, 1]) > bound, "float32")
        true.assign_add(ctx.xp.sum(hits * ctx.xp.asarray(mask)))
        seen.assign_add(float(mask.sum()))

    for bound in (-0.5, 0.0, 0.5):
        strategy.run(evaluate, args=(bound,))
    with strategy.scope():
        return float(true.value() / seen.value())
