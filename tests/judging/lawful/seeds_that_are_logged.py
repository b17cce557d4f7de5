"""Each replica logs a number of its own beside a mean that all agree on; the seeds change nothing else."""

import numpy as np

import simstrategy as ss


def program(strategy):
    rows = np.random.default_rng(160).normal(size=14).astype(np.float32)

    def step(part):
        ctx = ss.get_replica_context()
        sums = ctx.all_reduce("SUM", {"total": ctx.xp.sum(part), "rows": float(part.shape[0])})
        return {"mean": sums["total"] / sums["rows"], "stream": ctx.seed("stream") % 1000}

    (part,) = strategy.experimental_distribute_dataset([rows])
    results = strategy.run(step, args=(part,))
    return {"mean": strategy.unwrap(results["mean"])[0], "streams": results["stream"]}
