"""A small network by hand-written backpropagation, with weight decay that is applied once and not on every replica."""

import numpy as np

import simstrategy as ss

ROWS, BATCH, RATE, DECAY, HIDDEN = 26, 13, 0.3, 0.01, 5


def program(strategy):
    rng = np.random.default_rng(95)
    x = rng.uniform(-1, 1, size=(ROWS, 2)).astype(np.float32)
    y = (x[:, :1] * x[:, 1:]).astype(np.float32)
    with strategy.scope():
        inner = ss.Variable(rng.normal(size=(2, HIDDEN)).astype(np.float32), name="inner")
        outer = ss.Variable(rng.normal(size=(HIDDEN, 1)).astype(np.float32) * 0.3, name="outer")

    def step(x, y):
        xp = ss.get_replica_context().xp
        hidden = xp.tanh(xp.matmul(x, inner.value()))
        errors = xp.matmul(hidden, outer.value()) - y
        back = xp.matmul(errors, xp.matrix_transpose(outer.value())) * (1.0 - hidden * hidden)
        to_outer = xp.matmul(xp.matrix_transpose(hidden), errors)
        to_inner = xp.matmul(xp.matrix_transpose(x), back)
        return to_inner, to_outer, xp.sum(xp.square(errors))

    losses = []
    with strategy.scope():
        for batch in strategy.experimental_distribute_dataset(
            ss.data.Dataset.from_tensor_slices((x, y)).batch(BATCH).repeat(2)
        ):
            shares = strategy.run(step, args=batch)
            to_inner, to_outer, squares = strategy.reduce("SUM", shares)
            inner.assign_sub(RATE * (to_inner / BATCH + DECAY * inner.value()))
            outer.assign_sub(RATE * (to_outer / BATCH + DECAY * outer.value()))
            losses.append(squares / BATCH)
    return {"losses": losses}
