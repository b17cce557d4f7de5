"""A sum of large numbers that cancel: what is left is small, and mostly the rounding of the order of additions."""

import numpy as np

import simstrategy as ss


def program(strategy):
    rng = np.random.default_rng(130)
    large = rng.normal(0, 1e6, size=25).astype(np.float32)
    terms = np.concatenate([large, -large, np.float32([0.25])])[rng.permutation(51)]

    def share(part):
        return ss.get_replica_context().xp.sum(part)

    (part,) = strategy.experimental_distribute_dataset([terms])
    return strategy.reduce(ss.ReduceOp.SUM, strategy.run(share, args=(part,)))
