"""Counts, extremes and histograms of integers: exact on any number of replicas."""

import numpy as np

import simstrategy as ss


def program(strategy):
    readings = np.random.default_rng(99).integers(-50, 50, size=41).astype(np.int64)

    def statistics(part):
        ctx = ss.get_replica_context()
        xp = ctx.xp
        bins = xp.arange(-50, 50, 20)
        inside = xp.astype(xp.expand_dims(part, axis=1) >= xp.astype(bins, "int64"), "int64")
        extremes = ctx.all_gather(xp.stack([xp.max(part), xp.min(part)]), axis=0)
        return {
            "histogram": ctx.all_reduce("SUM", xp.sum(inside, axis=0)),
            "rows": ctx.all_reduce(ss.ReduceOp.SUM, part.shape[0]),
            "max": xp.max(extremes),
            "min": xp.min(extremes),
        }

    (part,) = strategy.experimental_distribute_dataset([readings])
    return {
        name: strategy.experimental_local_results(one)[0]
        for name, one in strategy.run(statistics, args=(part,)).items()
    }
