"""Early stopping on a validation loss that is reduced with the wrong op; the training itself is right."""

import numpy as np

import simstrategy as ss

RNG = np.random.default_rng(2)
X = RNG.uniform(-1, 1, size=(36, 2)).astype(np.float32)
Y = (X[:, 0] - 2 * X[:, 1]).astype(np.float32)
TRAIN, VALID = slice(0, 24), slice(24, 36)


def residuals(xp, x, y, w):
    return xp.matmul(x, w) - y


def program(strategy):
    with strategy.scope():
        w = ss.Variable(np.zeros(2, np.float32), aggregation=ss.VariableAggregation.SUM, name="w")

    def train(batch):
        xp = ss.get_replica_context().xp
        x, y = batch
        w.assign_sub(xp.matmul(residuals(xp, x, y, w.value()), x) * (0.4 / 24))

    def validate(batch):
        xp = ss.get_replica_context().xp
        return xp.mean(xp.square(residuals(xp, *batch, w.value())))

    losses = []
    for _ in range(6):
        for batch in strategy.experimental_distribute_dataset([(X[TRAIN], Y[TRAIN])]):
            strategy.run(train, args=(batch,))
        for batch in strategy.experimental_distribute_dataset([(X[VALID], Y[VALID])]):
            per_replica = strategy.run(validate, args=(batch,))
            losses.append(float(strategy.reduce(ss.ReduceOp.SUM, per_replica, axis=None)))  # wrong: SUM of means
        if losses[-1] < 0.75:
            break
    return losses
