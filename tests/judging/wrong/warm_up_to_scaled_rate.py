"""Momentum whose rate warms up to the base rate times the replicas, while the global batch stays as it is."""

import functools

import numpy as np

import simstrategy as ss

EPOCHS, BATCH = 3, 12


def schedule(step, replicas):
    target = 0.05 * replicas  # wrong: the batch does not grow with the replicas
    return 0.05 + (target - 0.05) * min(step, 4) / 4


def loss_gradient(xp, w, x, y):
    hidden = xp.tanh(xp.matmul(x, w))
    errors = hidden - y
    return xp.matmul(errors * (1 - hidden * hidden), x) / BATCH


def program(strategy):
    rng = np.random.default_rng(402)
    x = rng.normal(size=(36, 3)).astype(np.float32)
    y = np.tanh(x @ np.float32([0.5, 1.5, -1.0])).astype(np.float32)
    with strategy.scope():
        w = ss.Variable(np.float32([0.1, 0.1, 0.1]), name="w")
        velocity = ss.Variable(np.zeros(3, np.float32), name="velocity")

    def move(merging, gradient, number):
        total = merging.reduce("SUM", gradient)
        rate = schedule(number, strategy.num_replicas_in_sync)
        merging.extended.update(velocity, lambda v, g: v.assign(0.8 * v.value() + g), args=(total,))
        merging.extended.update(w, lambda w, v: w.assign_sub(rate * v.value()), args=(velocity,))  # shows

    def train(number, x, y):
        ctx = ss.get_replica_context()
        gradient = loss_gradient(ctx.xp, w.value(), x, y)
        ctx.merge_call(functools.partial(move, number=number), args=(gradient,))  # shows

    number = 0
    for _ in range(EPOCHS):
        for batch in strategy.experimental_distribute_dataset(ss.data.Dataset.from_tensor_slices((x, y)).batch(BATCH)):
            strategy.run(train, args=(number, *batch))
            number += 1
    return w.numpy()
