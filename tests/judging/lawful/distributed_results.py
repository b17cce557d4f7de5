"""Inference: predictions come back as they are distributed, as PerReplica values and lists of local results."""

import numpy as np

import simstrategy as ss


def program(strategy):
    rng = np.random.default_rng(175)
    rows = rng.normal(size=(11, 3)).astype(np.float32)
    kernel = rng.normal(size=(3, 2)).astype(np.float32)

    def predict(part):
        xp = ss.get_replica_context().xp
        return xp.matmul(part, xp.asarray(kernel))

    (part,) = strategy.experimental_distribute_dataset([rows])
    predictions = strategy.run(predict, args=(part,))
    return {
        "distributed": predictions,
        "local": list(strategy.experimental_local_results(predictions)),
        "total": strategy.reduce("SUM", predictions, axis=0),
    }
