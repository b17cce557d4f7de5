"""Under jit the mean is one over all rows already; the loss is divided by the number of devices all the same."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

INPUTS = np.random.default_rng(10).normal(size=(24, 3)).astype(np.float32)
TARGETS = np.cos(INPUTS[:, 0])


def program(mesh: Mesh):
    def loss_of(weights, inputs, targets):
        hidden = jnp.tanh(inputs @ weights)
        return jnp.mean((hidden.sum(axis=1) - targets) ** 2) / mesh.size  # wrong; shows

    @jax.jit
    def step(weights, inputs, targets):
        loss, gradient = jax.value_and_grad(loss_of)(weights, inputs, targets)
        return weights - 0.1 * gradient, loss

    sharding = NamedSharding(mesh, P("data"))
    inputs = jax.make_array_from_callback(INPUTS.shape, sharding, lambda index: INPUTS[index])
    targets = jax.device_put(TARGETS, sharding)
    weights = jnp.linspace(-0.5, 0.5, 6).reshape(3, 2)
    losses = []
    for _ in range(2):
        weights, loss = step(weights, inputs, targets)
        losses.append(loss)
    return {"weights": weights, "losses": losses}
