"""Dropout masks are drawn for the whole batch and then cut into parts, so that they do not depend on the devices."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

INPUTS = np.random.default_rng(38).normal(size=(24, 6)).astype(np.float32)
TARGETS = INPUTS[:, 0] - INPUTS[:, 5]


def program(mesh: Mesh):
    rows = NamedSharding(mesh, P("data"))

    @jax.jit
    def step(weights, key, inputs, targets):
        kept = jax.random.bernoulli(key, 0.8, inputs.shape)
        kept = jax.lax.with_sharding_constraint(kept, rows)
        loss, gradient = jax.value_and_grad(lambda w: jnp.mean(((inputs * kept / 0.8) @ w - targets) ** 2))(weights)
        return weights - 0.1 * gradient, loss

    weights, key = jnp.zeros(6), jax.random.key(3)
    inputs, targets = jax.device_put((INPUTS, TARGETS), rows)
    before = np.inf
    for number in range(8):
        weights, loss = step(weights, jax.random.fold_in(key, number), inputs, targets)
        if float(loss) > 2 * before:
            break
        before = float(loss)
    return {"weights": weights, "loss": before, "steps": number}
