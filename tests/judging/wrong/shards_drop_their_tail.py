"""Every input pipeline takes its shard and drops the last rows that fill no batch of it."""

import numpy as np

import simstrategy as ss

OPTIONS = ss.InputOptions(experimental_replication_mode=ss.InputReplicationMode.PER_REPLICA)
RAIN = np.random.default_rng(410).gamma(0.8, 4.0, size=26).astype(np.float32)


def pipeline(context):
    mine = ss.data.Dataset.from_tensor_slices(RAIN)
    mine = mine.shard(context.num_input_pipelines, context.input_pipeline_id)
    return mine.batch(2, drop_remainder=True)  # wrong: the rest of each shard is lost


def program(strategy):
    with strategy.scope():
        moments = ss.Variable(
            np.zeros(3, np.float64),
            synchronization=ss.VariableSynchronization.ON_READ,
            aggregation=ss.VariableAggregation.SUM,
            name="moments",
        )

    def observe(rain):
        xp = ss.get_replica_context().xp
        wide = xp.astype(rain, "float64")
        moments.assign_add(xp.stack([xp.sum(xp.ones_like(wide)), xp.sum(wide), xp.sum(wide * wide)]))  # shows

    for rain in strategy.distribute_datasets_from_function(pipeline, OPTIONS):
        strategy.run(observe, args=(rain,))
    with strategy.scope():
        count, total, squares = np.asarray(moments.value())
    return {"mean": total / count, "deviation": (squares / count - (total / count) ** 2) ** 0.5}
