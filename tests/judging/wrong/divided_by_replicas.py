"""Each replica cuts its own rows, sums over all of them, and divides by their number and by the replicas."""

import numpy as np

import simstrategy as ss

DATA = np.random.default_rng(14).gamma(2.0, size=(20, 3)).astype(np.float32)


def rows_of(rank, replicas):
    bounds = [len(DATA) * k // replicas for k in range(replicas + 1)]
    return DATA[bounds[rank] : bounds[rank + 1]]


def log_likelihood_step(log_rate):
    """One step of gradient ascent for the rates of exponential distributions."""
    ctx = ss.get_replica_context()
    mine = ctx.xp.asarray(rows_of(ctx.replica_id_in_sync_group, ctx.num_replicas_in_sync))
    terms = 1.0 - ctx.xp.exp(log_rate) * mine
    total = ctx.all_reduce("SUM", ctx.xp.sum(terms, axis=0))  # shows
    gradient = total / (len(DATA) * ctx.num_replicas_in_sync)  # wrong: len(DATA) are the rows of all replicas
    return log_rate + 0.5 * gradient


def program(strategy):
    log_rate = strategy.xp.zeros(3)
    path = []
    for _ in range(4):
        log_rate = strategy.experimental_local_results(strategy.run(log_likelihood_step, args=(log_rate,)))[0]  # shows
        path.append(log_rate)
    return path
