"""A moving count of labels in a variable that takes replica 0's value, as if every replica had the same rows."""

import numpy as np

import simstrategy as ss


def program(strategy):
    labels = np.random.default_rng(33).integers(0, 3, size=(4, 12)).astype(np.int32)
    with strategy.scope():
        prior = ss.Variable(
            np.zeros(3, np.float32), aggregation=ss.VariableAggregation.ONLY_FIRST_REPLICA, name="prior"
        )

    @strategy.compile
    def count(batch):
        xp = ss.get_replica_context().xp
        hits = xp.astype(xp.expand_dims(batch, axis=1) == xp.arange(3), "float32")
        prior.assign_add(xp.sum(hits, axis=0))  # wrong: replica 0's rows alone are counted

    for batch in strategy.experimental_distribute_dataset(list(labels)):
        strategy.run(count, args=(batch,))
    counts = prior.numpy()
    return np.log(counts / counts.sum())
