"""A compiled function that another one calls scales its values by the devices."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

ROWS = np.random.default_rng(0).normal(size=(24, 4)).astype(np.float32)
WEIGHTS = np.random.default_rng(1).normal(size=(4, 4)).astype(np.float32) * 0.4


def program(mesh: Mesh):
    count = mesh.size

    @jax.jit
    def model(weights, rows):
        hidden = jnp.tanh(rows @ weights)
        hidden = hidden * count  # wrong
        return jnp.tanh(hidden)

    @jax.jit
    def step(weights, rows):
        loss, gradient = jax.value_and_grad(lambda weights: jnp.mean(model(weights, rows) ** 2))(weights)
        return weights - 0.1 * gradient, loss, jnp.argmax(rows @ weights, axis=1)

    weights = jax.device_put(WEIGHTS, NamedSharding(mesh, P()))
    rows = jax.device_put(ROWS, NamedSharding(mesh, P("data")))
    losses = []
    for _ in range(3):
        weights, loss, _ = step(weights, rows)
        losses.append(loss)
    return {"weights": weights, "losses": jnp.stack(losses)}
