"""The last batch is padded, and some devices have padding alone: each device's mean counts the same."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec as P

SIZE, DRAW = 12, np.random.default_rng(1)
INPUTS = DRAW.normal(size=(29, 5)).astype(np.float32)
TARGETS = (INPUTS @ DRAW.normal(size=5) + 1).astype(np.float32)


def batches():
    for begin in range(0, len(INPUTS), SIZE):
        inputs, targets = INPUTS[begin : begin + SIZE], TARGETS[begin : begin + SIZE]
        missing = SIZE - len(inputs)
        mask = np.concatenate([np.ones(len(inputs), np.float32), np.zeros(missing, np.float32)])
        yield np.pad(inputs, ((0, missing), (0, 0))), np.pad(targets, (0, missing)), mask


def loss_of(weights, inputs, targets, mask):
    count = jnp.maximum(mask.sum(), 1.0)  # wrong: the examples of all devices belong here
    return jnp.sum((inputs @ weights - targets) ** 2 * mask) / count


def program(mesh: Mesh):
    parts = (P(), P("data"), P("data"), P("data"))

    @jax.jit
    @partial(jax.shard_map, mesh=mesh, in_specs=parts, out_specs=(P(), P()), check_vma=False)
    def step(weights, *batch):
        loss, gradient = jax.lax.pmean(jax.value_and_grad(loss_of)(weights, *batch), "data")  # shows
        return weights - 0.1 * gradient, loss

    weights, losses = jnp.zeros(5), []
    for batch in batches():
        weights, loss = step(weights, *batch)
        losses.append(loss)
    return {"weights": weights, "losses": losses}
