"""A pmap training step that never combines the gradients: the devices train models of their own."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

INPUTS = np.random.default_rng(3).normal(size=(24, 3)).astype(np.float32)
TARGETS = (INPUTS @ np.float32([1.0, 0.0, -1.0]) > 0).astype(np.float32)


def loss_of(weights, inputs, targets):
    logits = inputs @ weights
    return jnp.mean(jnp.maximum(logits, 0) - logits * targets + jnp.log1p(jnp.exp(-jnp.abs(logits))))


def update(weights, inputs, targets):
    loss, gradient = jax.value_and_grad(loss_of)(weights, inputs, targets)
    return weights - gradient, jax.lax.pmean(loss, "batch")  # wrong: no pmean of the gradient


def program(mesh: Mesh):
    count = mesh.size
    step = jax.pmap(update, axis_name="batch")
    weights = jnp.zeros((count, 3))
    inputs, targets = INPUTS.reshape(count, -1, 3), TARGETS.reshape(count, -1)
    losses = []
    for _ in range(3):
        weights, loss = step(weights, inputs, targets)  # shows
        losses.append(float(loss[0]))
    return {"weights": weights, "losses": losses}
