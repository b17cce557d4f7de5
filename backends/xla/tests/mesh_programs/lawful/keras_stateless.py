"""A Keras model on JAX and Keras's optimizer, trained by their stateless functions; gradients are averaged."""

import os

os.environ["KERAS_BACKEND"] = "jax"

import jax
import keras
import numpy as np
from jax.sharding import PartitionSpec as P

ROWS = np.random.default_rng(3).normal(size=(48, 5)).astype(np.float32)
TARGETS = ROWS[:, :1] * 2 - ROWS[:, 1:2]


def program(mesh: jax.sharding.Mesh):
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.Input((5,)), keras.layers.Dense(6, activation="tanh"), keras.layers.Dense(1)])
    optimizer = keras.optimizers.SGD(0.05, momentum=0.9)
    optimizer.build(model.trainable_variables)
    state = [[one.value for one in variables] for variables in (model.trainable_variables, optimizer.variables)]

    def loss_of(trainable, rows, targets):
        found, _ = model.stateless_call(trainable, [], rows)
        return ((found - targets) ** 2).mean()

    def step(state, rows, targets):
        trainable, held = state
        found = jax.value_and_grad(loss_of)(trainable, rows, targets)
        loss, gradients = jax.lax.pmean(found, "data")
        trainable, held = optimizer.stateless_apply(held, gradients, trainable)
        return loss, [list(trainable), list(held)]

    parts = (P(), P("data"), P("data"))
    run = jax.jit(jax.shard_map(step, mesh=mesh, in_specs=parts, out_specs=(P(), P()), check_vma=False))
    losses = []
    for begin in range(0, 48, 12):
        loss, state = run(state, ROWS[begin : begin + 12], TARGETS[begin : begin + 12])
        losses.append(loss)
    return {"losses": losses, "weights": state[0]}
