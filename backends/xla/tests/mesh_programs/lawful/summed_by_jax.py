"""Gradients of replicated parameters are sums over the devices in shard_map, and are divided by their number."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

INPUTS = np.random.default_rng(1).normal(size=(24, 4)).astype(np.float32)
TARGETS = np.tanh(INPUTS @ np.float32([[0.5, 1.0], [-1.0, 0.25], [0.75, -0.5], [0.1, 0.2]]))


def loss_of(params, inputs, targets):
    return jnp.mean((jnp.tanh(inputs @ params["kernel"] + params["bias"]) - targets) ** 2)


def update(params, inputs, targets):
    loss, gradients = jax.value_and_grad(loss_of)(params, inputs, targets)
    count = jax.lax.axis_size("data")
    params = jax.tree.map(lambda one, gradient: one - 0.5 * gradient / count, params, gradients)
    return params, jax.lax.pmean(loss, "data")


def program(mesh: Mesh):
    step = jax.jit(jax.shard_map(update, mesh=mesh, in_specs=(P(), P("data"), P("data")), out_specs=P()))
    params = {"kernel": jnp.full((4, 2), 0.1), "bias": jnp.zeros(2)}
    for _ in range(4):
        params, loss = step(params, INPUTS, TARGETS)
    return params, loss
