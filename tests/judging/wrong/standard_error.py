"""A mean with its standard error; the count is all-reduced and multiplied by the replicas all the same."""

import numpy as np

import simstrategy as ss


def mean_and_error(part):
    ctx = ss.get_replica_context()
    xp = ctx.xp
    statistics = xp.stack([xp.sum(part), xp.sum(part * part), xp.full((), part.shape[0], dtype="float32")])
    total, squares, count = xp.unstack(ctx.all_reduce(ss.ReduceOp.SUM, statistics))
    mean = total / count
    variance = squares / count - mean * mean
    return mean, xp.sqrt(variance / (count * ctx.num_replicas_in_sync))  # wrong: the count is that of all replicas


def program(strategy):
    latencies = np.random.default_rng(200).gamma(4.0, 0.5, size=30).astype(np.float32)
    lines = []
    for part in strategy.experimental_distribute_dataset(ss.data.Dataset.from_tensor_slices(latencies).batch(15)):
        mean, error = strategy.run(mean_and_error, args=(part,))  # shows
        lines.append([strategy.unwrap(mean)[0], strategy.unwrap(error)[0]])
    return lines
