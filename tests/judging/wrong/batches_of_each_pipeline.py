"""Each replica's pipeline makes batches of as many rows as one replica had: more replicas, fewer and larger steps."""

import numpy as np

import simstrategy as ss

Agg = ss.VariableAggregation
ROWS_PER_STEP = 12


def table():
    rng = np.random.default_rng(421)
    heights = rng.normal(0.0, 1.0, size=(48, 2)).astype(np.float32)
    return heights, (2.0 * heights[:, 0] + 0.5 * heights[:, 1] + 0.1 * rng.normal(size=48)).astype(np.float32)


def pipeline(context):
    mine = ss.data.Dataset.from_tensor_slices(table()).shard(context.num_input_pipelines, context.input_pipeline_id)
    return mine.batch(ROWS_PER_STEP)  # wrong: as many for each replica


def program(strategy):
    options = ss.InputOptions(experimental_replication_mode=ss.InputReplicationMode.PER_REPLICA)
    with strategy.scope():
        slopes = ss.Variable(np.zeros(2, np.float32), aggregation=Agg.MEAN, name="slopes")
        seen = ss.Variable(np.float32(0), aggregation=Agg.SUM, trainable=False, name="seen")

    def fit(x, y):
        xp = ss.get_replica_context().xp
        errors = xp.matmul(x, slopes.value()) - y
        slopes.assign_sub(0.3 * xp.matmul(errors, x) / x.shape[0])  # shows
        seen.assign_add(float(x.shape[0]))

    for batch in strategy.distribute_datasets_from_function(pipeline, options):
        strategy.run(fit, args=batch)
    return {"slopes": slopes.numpy(), "rows": seen.numpy()}
