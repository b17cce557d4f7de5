"""A sampler that gives every replica equally many indices, by starting again at the front; they are counted twice."""

import math

import numpy as np

import simstrategy as ss


class Sampler:
    """Yields the indices of one replica, `ceil(rows / replicas)` of them."""

    def __init__(self, rows, replicas, rank, seed):
        self.rows, self.replicas, self.rank = rows, replicas, rank
        self.order = np.random.default_rng(seed).permutation(rows)

    def indices(self):
        size = math.ceil(self.rows / self.replicas)
        padded = np.resize(self.order, size * self.replicas)  # wrong: the first rows come again
        return padded[self.rank :: self.replicas]


def program(strategy):
    rng = np.random.default_rng(12)
    scores = rng.uniform(size=10).astype(np.float32)
    truth = (rng.uniform(size=10) < scores).astype(np.float32)

    def brier_sums():
        ctx = ss.get_replica_context()
        mine = Sampler(10, ctx.num_replicas_in_sync, ctx.replica_id_in_sync_group, seed=4).indices()
        errors = ctx.xp.asarray(scores[mine]) - ctx.xp.asarray(truth[mine])
        return ctx.xp.sum(ctx.xp.square(errors)), ctx.xp.full((), len(mine), dtype="float32")

    total, count = strategy.reduce("SUM", strategy.run(brier_sums))  # shows
    return {"brier": total / count, "rows": count}
