"""The parameters are trained rightly; the accuracy that is reported is a sum of the devices' accuracies."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

INPUTS = np.random.default_rng(31).normal(size=(24, 3)).astype(np.float32)
LABELS = (INPUTS.sum(axis=1) > 0.2).astype(np.float32)


def update(weights, inputs, labels):
    def loss_of(weights):
        return jnp.mean((jax.nn.sigmoid(inputs @ weights) - labels) ** 2)

    gradient = jax.lax.pmean(jax.grad(loss_of)(weights), "i")
    accuracy = jnp.mean(((inputs @ weights) > 0) == (labels > 0.5))
    return weights - gradient, jax.lax.psum(accuracy, "i")  # wrong; shows


def program(mesh: Mesh):
    count = mesh.devices.size
    step = jax.pmap(update, axis_name="i", devices=list(mesh.devices.flat))
    weights = jnp.ones((count, 3)) * 0.1
    reported = []
    for _ in range(3):
        weights, accuracy = step(weights, INPUTS.reshape(count, -1, 3), LABELS.reshape(count, -1))
        reported.append(np.asarray(accuracy)[0])
    return {"accuracies": reported, "weights": weights}
