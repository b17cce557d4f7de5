"""The rate grows with the square root of the replicas, though the global batch stays as it is."""

import math

import numpy as np

import simstrategy as ss


class Momentum:
    def __init__(self, variables, rate, momentum=0.9):
        self.variables, self.rate, self.momentum = variables, rate, momentum
        self.speeds = [ss.Variable(np.zeros(one.shape, np.float32), name=f"{one.name}_speed") for one in variables]

    def apply(self, strategy, gradients):
        for variable, speed, gradient in zip(self.variables, self.speeds, gradients, strict=True):
            total = strategy.reduce("SUM", gradient)
            speed.assign(self.momentum * speed.value() - self.rate * total)  # shows
            variable.assign_add(speed.value())  # shows


def program(strategy):
    rng = np.random.default_rng(19)
    x = rng.normal(size=(32, 3)).astype(np.float32)
    y = np.tanh(x @ np.float32([1, -1, 2]))
    rate = 0.05 * math.sqrt(strategy.num_replicas_in_sync)  # wrong: the batch does not grow with the replicas
    with strategy.scope():
        kernel = ss.Variable(np.zeros(3, np.float32), name="kernel")
        optimiser = Momentum([kernel], rate)

    def step(batch):
        ctx = ss.get_replica_context()
        outputs = ctx.xp.tanh(ctx.xp.matmul(batch["x"], kernel.value()))
        slopes = (outputs - batch["y"]) * (1 - outputs * outputs) / 16.0
        ctx.merge_call(optimiser.apply, args=([ctx.xp.matmul(slopes, batch["x"])],))

    dataset = ss.data.Dataset.from_tensor_slices({"x": x, "y": y.astype(np.float32)}).batch(16)
    for batch in strategy.experimental_distribute_dataset(dataset):
        strategy.run(step, args=(batch,))
    return kernel.numpy()
