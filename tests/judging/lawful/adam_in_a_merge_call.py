"""Adam as a library would write it: slots beside the variable, all updated in a merge call."""

import numpy as np

import simstrategy as ss


class Adam:
    def __init__(self, rate=0.05, first=0.9, second=0.99, epsilon=1e-3):
        self.rate, self.first, self.second, self.epsilon = rate, first, second, epsilon
        self.slots, self.steps = {}, 0

    def build(self, variables):
        for one in variables:
            zeros = np.zeros(one.shape, np.float32)
            self.slots[one.name] = tuple(ss.Variable(zeros, trainable=False, name=f"{one.name}/{s}") for s in "mv")

    def apply(self, strategy, gradients, variables):
        self.steps += 1
        correction = (1 - self.second**self.steps) ** 0.5 / (1 - self.first**self.steps)
        for gradient, variable in zip(gradients, variables, strict=True):
            total = strategy.extended.reduce_to("SUM", gradient, variable)
            strategy.extended.update(variable, self.move, args=(self.slots[variable.name], total, correction))

    def move(self, variable, slots, gradient, correction):
        m, v = slots
        xp = ss.get_strategy().xp
        m.assign(self.first * m.value() + (1 - self.first) * gradient)
        v.assign(self.second * v.value() + (1 - self.second) * gradient * gradient)
        variable.assign_sub(self.rate * correction * m.value() / (xp.sqrt(v.value()) + self.epsilon))


def program(strategy):
    rng = np.random.default_rng(10)
    x = rng.normal(size=(21, 4)).astype(np.float32)
    y = np.abs(x).sum(axis=1, keepdims=True).astype(np.float32)
    with strategy.scope():
        kernel = ss.Variable(rng.normal(size=(4, 1)).astype(np.float32), name="kernel")
        bias = ss.Variable(np.zeros(1, np.float32), name="bias")
        optimiser = Adam()
        optimiser.build([kernel, bias])

    def step(x, y):
        ctx = ss.get_replica_context()
        xp = ctx.xp
        errors = (xp.matmul(x, kernel.value()) + bias.value() - y) / 7.0
        gradients = [xp.matmul(xp.matrix_transpose(x), errors), xp.sum(errors, axis=0)]
        ctx.merge_call(lambda merging, g: optimiser.apply(merging, g, [kernel, bias]), args=(gradients,))

    for _ in range(2):
        for batch in strategy.experimental_distribute_dataset(ss.data.Dataset.from_tensor_slices((x, y)).batch(7)):
            strategy.run(step, args=batch)
    return kernel.numpy(), bias.numpy()
