"""Linear regression with a variable that averages: 22 rows in batches of 10, so parts have unequal sizes."""

import numpy as np

import simstrategy as ss

RATE = 0.1


def make_dataset():
    rng = np.random.default_rng(3)
    features = rng.normal(size=(22, 3)).astype(np.float32)
    targets = features @ np.float32([1.5, -2.0, 0.5]) + np.float32(0.3) * rng.normal(size=22).astype(np.float32)
    return ss.data.Dataset.from_tensor_slices((features, targets)).batch(10)


def program(strategy):
    with strategy.scope():
        weights = ss.Variable(np.zeros(3, np.float32), aggregation=ss.VariableAggregation.MEAN, name="weights")

    def step(features, targets):
        xp = ss.get_replica_context().xp
        errors = xp.matmul(features, weights.value()) - targets
        # wrong: this replica's mean
        gradient = xp.mean(xp.expand_dims(errors, axis=1) * features, axis=0)
        weights.assign_sub(RATE * gradient)  # shows

    for features, targets in strategy.experimental_distribute_dataset(make_dataset()):
        strategy.run(step, args=(features, targets))
    return weights
