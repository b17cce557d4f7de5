"""JAX adds the gradients of replicated parameters in shard_map; a mean of equal values does not undo it."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec as P

INPUTS = np.random.default_rng(1).normal(size=(24, 4)).astype(np.float32)
TARGETS = np.tanh(INPUTS @ np.float32([[0.5, 1.0], [-1.0, 0.25], [0.75, -0.5], [0.1, 0.2]]))


def loss_of(params, inputs, targets):
    hidden = jnp.tanh(inputs @ params["kernel"] + params["bias"])  # shows
    return jnp.mean((hidden - targets) ** 2)


def update(params, inputs, targets):
    loss, gradients = jax.value_and_grad(loss_of)(params, inputs, targets)  # wrong: they are sums over the devices
    gradients = jax.lax.pmean(gradients, "data")  # shows
    params = jax.tree.map(lambda one, gradient: one - 0.5 * gradient, params, gradients)
    return params, jax.lax.pmean(loss, "data")


def program(mesh: Mesh):
    parts, whole = P(mesh.axis_names), P()
    step = jax.jit(jax.shard_map(update, mesh=mesh, in_specs=(whole, parts, parts), out_specs=(whole, whole)))
    params = {"kernel": jnp.full((4, 2), 0.1), "bias": jnp.zeros(2)}
    history = []
    for _ in range(4):
        params, loss = step(params, INPUTS, TARGETS)
        history.append(loss)
    return params, jnp.stack(history)
