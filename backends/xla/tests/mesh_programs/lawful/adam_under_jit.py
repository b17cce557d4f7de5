"""A small network under jit with sharded rows and a hand-written Adam: JAX chooses the collectives."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

INPUTS = np.random.default_rng(14).normal(size=(24, 4)).astype(np.float32)
TARGETS = np.sin(INPUTS.sum(axis=1))


def loss_of(params, inputs, targets):
    hidden = jnp.tanh(inputs @ params["first"] + params["bias"])
    return jnp.mean((hidden @ params["second"] - targets) ** 2)


@jax.jit
def step(params, first, second, number, inputs, targets):
    loss, gradients = jax.value_and_grad(loss_of)(params, inputs, targets)
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradients)
    second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, second, gradients)
    scale = jnp.sqrt(1 - 0.999**number) / (1 - 0.9**number)
    params = jax.tree.map(lambda p, m, v: p - 0.01 * scale * m / (jnp.sqrt(v) + 1e-8), params, first, second)
    return params, first, second, loss


def program(mesh: Mesh):
    whole, rows = NamedSharding(mesh, P()), NamedSharding(mesh, P("data"))
    keys = jax.random.split(jax.random.key(1), 2)
    params = {"first": jax.random.normal(keys[0], (4, 8)) * 0.5, "bias": jnp.zeros(8)}
    params["second"] = jax.random.normal(keys[1], (8,)) * 0.5
    params = jax.device_put(params, whole)
    first = second = jax.tree.map(jnp.zeros_like, params)
    inputs, targets = jax.device_put((INPUTS, TARGETS), rows)
    losses = []
    for number in range(1, 6):
        params, first, second, loss = step(params, first, second, number, inputs, targets)
        losses.append(loss)
    return {"params": params, "losses": jnp.stack(losses)}
