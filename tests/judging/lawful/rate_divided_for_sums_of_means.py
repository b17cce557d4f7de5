"""Means over equal parts are summed, and the rate is divided by the replicas; momentum keeps the mean."""

import numpy as np

import simstrategy as ss


class Momentum:
    def __init__(self, rate, decay, variable):
        self.rate, self.decay, self.variable = rate, decay, variable
        self.velocity = ss.Variable(np.zeros(variable.shape, np.float32), name="velocity")

    def __call__(self, merging, gradient):
        total = merging.reduce("SUM", gradient)
        scaled = self.rate / merging.num_replicas_in_sync

        def move(velocity, total):
            velocity.assign(self.decay * velocity.value() + scaled * total)

        merging.extended.update(self.velocity, move, args=(total,))
        merging.extended.update(self.variable, lambda v, u: v.assign_sub(u.value()), args=(self.velocity,))


def program(strategy):
    rng = np.random.default_rng(502)
    x = rng.normal(size=(48, 2)).astype(np.float32)
    y = (x @ np.float32([1.0, -3.0])).astype(np.float32)
    with strategy.scope():
        w = ss.Variable(np.zeros(2, np.float32), name="w")
        optimizer = Momentum(0.2, 0.5, w)

    def step(x, y):
        ctx = ss.get_replica_context()
        errors = ctx.xp.matmul(x, w.value()) - y
        gradient = ctx.xp.mean(ctx.xp.expand_dims(errors, axis=1) * x, axis=0)
        ctx.merge_call(optimizer, args=(gradient,))

    for batch in strategy.experimental_distribute_dataset(ss.data.Dataset.from_tensor_slices((x, y)).batch(12)):
        strategy.run(step, args=batch)
    return w.numpy()
