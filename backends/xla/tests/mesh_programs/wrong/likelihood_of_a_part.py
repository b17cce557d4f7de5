"""A log-likelihood of one-hot labels is divided by the rows of one device, and summed over all, on explicit axes.

The loss's own gradient depends on no weights: it differs by the same factor in every step.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec as P

RNG = np.random.default_rng(14)
INPUTS = RNG.normal(size=(24, 5)).astype(np.float32)
LABELS = np.eye(3, dtype=np.float32)[RNG.integers(0, 3, 24)]


def program(mesh: Mesh):
    axes = jax.make_mesh((mesh.size,), ("rows",), axis_types=(AxisType.Explicit,), devices=mesh.devices.ravel())
    rows = 24 // mesh.size

    def loss_of(weights, inputs, labels):
        logits = jnp.tanh(inputs @ weights["hidden"]) @ weights["out"]
        likelihood = logits - logsumexp(logits, axis=1, keepdims=True)
        return -jnp.sum(likelihood * labels) / rows  # wrong

    @jax.jit(donate_argnums=0)
    def step(weights, inputs, labels):
        gradient = jax.grad(loss_of)(weights, inputs, labels)
        return jax.tree.map(lambda weight, change: weight - 0.1 * change, weights, gradient)

    draws = np.random.default_rng(15)
    first = {"hidden": draws.normal(size=(5, 4)), "out": draws.normal(size=(4, 3))}
    weights = jax.device_put(jax.tree.map(np.float32, first), NamedSharding(axes, P()))
    inputs, labels = jax.device_put((INPUTS, LABELS), NamedSharding(axes, P("rows")))
    for _ in range(3):
        with jax.set_mesh(axes):
            weights = step(weights, inputs, labels)
    return weights
