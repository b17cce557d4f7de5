"""A pmap training loop with momentum; what it returns has a row for each device, and all rows are equal."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

INPUTS = np.random.default_rng(3).normal(size=(24, 3)).astype(np.float32)
TARGETS = (INPUTS @ np.float32([1.0, 0.0, -1.0]) > 0).astype(np.float32)


def loss_of(params, inputs, targets):
    logits = inputs @ params["kernel"] + params["bias"]
    return jnp.mean(jnp.maximum(logits, 0) - logits * targets + jnp.log1p(jnp.exp(-jnp.abs(logits))))


def update(params, velocity, inputs, targets):
    loss, gradients = jax.value_and_grad(loss_of)(params, inputs, targets)
    gradients = jax.lax.pmean(gradients, "batch")
    velocity = jax.tree.map(lambda one, gradient: 0.9 * one - 0.1 * gradient, velocity, gradients)
    return jax.tree.map(jnp.add, params, velocity), velocity, loss


def program(mesh: Mesh):
    count = mesh.size
    step = jax.pmap(update, axis_name="batch")
    params = {"kernel": jnp.zeros((count, 3)), "bias": jnp.zeros(count)}
    velocity = jax.tree.map(jnp.zeros_like, params)
    inputs, targets = INPUTS.reshape(count, -1, 3), TARGETS.reshape(count, -1)
    losses = []
    for _ in range(4):
        params, velocity, loss = step(params, velocity, inputs, targets)
        losses.append(float(loss.mean()))  # of each device its own
    return {"params": params, "losses": losses}
