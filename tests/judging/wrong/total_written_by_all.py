"""A total that every replica has already from all_reduce, and writes to a variable that adds up the replicas."""

import numpy as np

import simstrategy as ss


def make_metrics():
    sums = ss.VariableAggregation.SUM
    return {name: ss.Variable(np.float32(0), aggregation=sums, name=name) for name in ("tokens", "nats")}


def program(strategy):
    rng = np.random.default_rng(190)
    lengths = rng.integers(1, 9, size=22).astype(np.float32)
    perplexities = rng.uniform(2, 30, size=22).astype(np.float32)
    with strategy.scope():
        metrics = make_metrics()

    def update(batch):
        ctx = ss.get_replica_context()
        lengths, perplexities = batch
        nats = ctx.all_reduce("SUM", ctx.xp.sum(lengths * ctx.xp.log(perplexities)))
        metrics["nats"].assign_add(nats)  # wrong: nats are those of all replicas already
        metrics["tokens"].assign_add(ctx.xp.sum(lengths))

    rows = ss.data.Dataset.from_tensor_slices((lengths, perplexities)).batch(11)
    for batch in strategy.experimental_distribute_dataset(rows):
        strategy.run(update, args=(batch,))
    return np.exp(metrics["nats"].numpy() / metrics["tokens"].numpy() / 10)
