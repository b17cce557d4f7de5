"""Logistic regression under Adam: the batch is a number of rows for each replica, so the global batch grows."""

import dataclasses

import numpy as np

import simstrategy as ss


@dataclasses.dataclass
class Config:
    rows_per_replica: int = 6
    epochs: int = 2
    rate: float = 0.05


class Adam:
    def __init__(self, parameters, rate):
        self.parameters, self.rate = parameters, rate
        self.first = [ss.Variable(np.zeros(p.shape, np.float32), name=f"{p.name}/m") for p in parameters]
        self.second = [ss.Variable(np.zeros(p.shape, np.float32), name=f"{p.name}/v") for p in parameters]
        self.count = ss.Variable(np.float32(0), name="adam/count")

    def apply(self, merging, gradients):
        extended = merging.extended
        extended.update(self.count, lambda c: c.assign(c.value() + 1))
        totals = merging.reduce("SUM", gradients)  # shows
        for parameter, m, v, g in zip(self.parameters, self.first, self.second, totals, strict=True):
            extended.update(m, lambda m, g: m.assign(0.9 * m.value() + 0.1 * g), args=(g,))
            extended.update(v, lambda v, g: v.assign(0.99 * v.value() + 0.01 * g * g), args=(g,))
            extended.update(parameter, self.move, args=(m, v, self.count))

    def move(self, parameter, m, v, count):
        mean = m.value() / (1 - 0.9 ** count.value())
        square = v.value() / (1 - 0.99 ** count.value())
        parameter.assign_sub(self.rate * mean / (square**0.5 + 1e-2))


class Trainer:
    def __init__(self, strategy, config):
        self.strategy, self.config = strategy, config
        self.global_batch = config.rows_per_replica * strategy.num_replicas_in_sync  # wrong: grows with the replicas
        with strategy.scope():
            self.kernel = ss.Variable(np.zeros(4, np.float32), name="kernel")
            self.bias = ss.Variable(np.float32(0), name="bias")
            self.optimizer = Adam([self.kernel, self.bias], config.rate)

    def batches(self):
        rng = np.random.default_rng(401)
        x = rng.normal(size=(48, 4)).astype(np.float32)
        y = (x @ np.float32([1, -1, 2, 0]) + 0.3 * rng.normal(size=48) > 0).astype(np.float32)
        data = ss.data.Dataset.from_tensor_slices((x, y)).batch(self.global_batch)
        return self.strategy.experimental_distribute_dataset(data)

    def step(self, x, y):
        ctx = ss.get_replica_context()
        logits = ctx.xp.matmul(x, self.kernel.value()) + self.bias.value()
        errors = (1 / (1 + ctx.xp.exp(-logits)) - y) / self.global_batch
        ctx.merge_call(self.optimizer.apply, args=([ctx.xp.matmul(errors, x), ctx.xp.sum(errors)],))

    def fit(self):
        for _ in range(self.config.epochs):
            for x, y in self.batches():
                self.strategy.run(self.step, args=(x, y))
        return {"kernel": self.kernel.numpy(), "bias": self.bias.numpy()}


def program(strategy):
    return Trainer(strategy, Config()).fit()
