"""An exponential moving average of weights that are equal everywhere; all replicas update it alike."""

import numpy as np

import simstrategy as ss

DECAY, RATE, BATCH = 0.7, 0.25, 6


def program(strategy):
    rng = np.random.default_rng(63)
    x = rng.normal(size=(24, 2)).astype(np.float32)
    y = np.sin(x[:, 0]).astype(np.float32)
    with strategy.scope():
        weights = ss.Variable(np.ones(2, np.float32), aggregation=ss.VariableAggregation.SUM, name="weights")
        average = ss.Variable(
            np.ones(2, np.float32), aggregation=ss.VariableAggregation.ONLY_FIRST_REPLICA, name="average"
        )

    def step(x, y):
        xp = ss.get_replica_context().xp
        errors = xp.matmul(x, weights.value()) - y
        weights.assign_sub(RATE / BATCH * xp.matmul(errors, x))
        average.assign(DECAY * average.value() + (1.0 - DECAY) * weights.value())

    for batch in strategy.experimental_distribute_dataset(
        ss.data.Dataset.from_tensor_slices((x, y)).shuffle(24, seed=5).batch(BATCH)
    ):
        strategy.run(step, args=batch)
    return {"weights": weights.numpy(), "average": average.numpy()}
