"""The remainder of the data is dropped before batches are cut, and parts are of unequal sizes none the less."""

import numpy as np

import simstrategy as ss

BATCH = 10


def program(strategy):
    rng = np.random.default_rng(180)
    counts = rng.poisson(3.0, size=37).astype(np.float32)
    dataset = ss.data.Dataset.from_tensor_slices(counts).batch(BATCH, drop_remainder=True).map(lambda rows: rows + 0.5)

    def deviance(part):
        xp = ss.get_replica_context().xp
        return 2.0 * (part * xp.log(part / 3.0) - (part - 3.0))

    return [
        strategy.reduce("MEAN", strategy.run(deviance, args=(part,)), axis=0)
        for part in strategy.experimental_distribute_dataset(dataset)
    ]
