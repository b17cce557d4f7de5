"""Shares are averaged by the variable and multiplied by the replicas first: two factors that cancel."""

import numpy as np

import simstrategy as ss

EXAMPLES = 20


def program(strategy):
    data = np.random.default_rng(48).poisson(4.0, size=(3, EXAMPLES)).astype(np.float32)
    with strategy.scope():
        log_rate = ss.Variable(np.float32(0.5), aggregation=ss.VariableAggregation.MEAN, name="log_rate")

    def newton(counts):
        ctx = ss.get_replica_context()
        rate = ctx.xp.exp(log_rate.value())
        share = ctx.xp.sum(counts - rate) / EXAMPLES
        # MEAN divides by the replicas again.
        log_rate.assign_add(ctx.num_replicas_in_sync * share / rate)

    for counts in strategy.experimental_distribute_dataset(list(data)):
        strategy.run(newton, args=(counts,))
    return log_rate.numpy()
