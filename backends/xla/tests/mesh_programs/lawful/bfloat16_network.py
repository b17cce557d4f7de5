"""Parameters and activations in bfloat16, whose additions on several devices round otherwise."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

INPUTS = np.random.default_rng(19).normal(size=(24, 8)).astype(np.float32)
TARGETS = np.tanh(INPUTS @ np.linspace(-0.5, 0.5, 8, dtype=np.float32))


def loss_of(weights, inputs, targets):
    return jnp.mean((jnp.tanh(inputs @ weights) - targets) ** 2)


@jax.jit
def step(weights, inputs, targets):
    loss, gradient = jax.value_and_grad(loss_of)(weights, inputs, targets)
    return weights - jnp.bfloat16(0.2) * gradient, loss


def program(mesh: Mesh):
    rows = NamedSharding(mesh, P("data"))
    inputs, targets = [jax.device_put(one.astype(jnp.bfloat16), rows) for one in (INPUTS, TARGETS)]
    weights = jax.device_put(jnp.full(8, 0.1, jnp.bfloat16), NamedSharding(mesh, P()))
    losses = []
    for _ in range(3):
        weights, loss = step(weights, inputs, targets)
        losses.append(float(loss))
    return {"weights": weights, "losses": losses}
