"""Takes as many rows for each device as for one; JAX shares them out."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

ROWS = np.random.default_rng(0).normal(size=(48, 4)).astype(np.float32)
WEIGHTS = np.random.default_rng(1).normal(size=(4, 4)).astype(np.float32) * 0.4


def program(mesh: Mesh):
    size = 4 * mesh.size  # wrong

    @jax.jit
    def step(weights, rows):
        loss, gradient = jax.value_and_grad(lambda weights: jnp.mean((rows @ weights - 1) ** 2))(weights)  # shows
        return weights - 0.05 * gradient, loss

    weights = jax.device_put(WEIGHTS, NamedSharding(mesh, P()))
    losses = []
    for number in range(4):
        rows = jax.device_put(ROWS[number * size : (number + 1) * size], NamedSharding(mesh, P("data")))
        weights, loss = step(weights, rows)
        losses.append(loss)
    return {"weights": weights, "losses": jnp.stack(losses)}
