"""Poisson regression; the share of the gradient is multiplied by the replicas, though all shares are added."""

import numpy as np

import simstrategy as ss


def clicks():
    rng = np.random.default_rng(417)
    views = rng.uniform(0.1, 1.0, size=(24, 3)).astype(np.float32)
    return views, rng.poisson(np.exp(views @ [0.5, -0.4, 0.8])).astype(np.float32)


def program(strategy):
    with strategy.scope():
        rates = ss.Variable(np.zeros(3, np.float32), aggregation=ss.VariableAggregation.SUM, name="rates")

    def ascend(views, counts):
        ctx = ss.get_replica_context()
        xp = ctx.xp
        surplus = counts - xp.exp(xp.matmul(views, rates.value()))
        share = xp.matmul(surplus, views) / 24.0
        boost = float(ctx.num_replicas_in_sync)  # wrong: the batch of 24 rows is the whole one
        rates.assign_add(0.05 * boost * share)  # shows

    for views, counts in strategy.experimental_distribute_dataset([clicks()] * 4):
        strategy.run(ascend, args=(views, counts))
    return rates.numpy()
