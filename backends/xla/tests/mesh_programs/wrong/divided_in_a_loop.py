"""A loop of one compiled program divides its gradients by the devices."""

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
    def train(weights, rows):
        def turn(number, carry):
            weights, losses = carry
            loss, gradient = jax.value_and_grad(lambda weights: jnp.mean((rows @ weights - 1) ** 2))(weights)
            gradient = gradient / count  # wrong
            return weights - 0.05 * gradient, losses.at[number].set(loss)

        return jax.lax.fori_loop(0, 4, turn, (weights, jnp.zeros(4)))

    weights = jax.device_put(WEIGHTS, NamedSharding(mesh, P()))
    rows = jax.device_put(ROWS, NamedSharding(mesh, P("data")))
    weights, losses = train(weights, rows)
    return {"weights": weights, "losses": losses}
