"""Axes are explicit, the arguments of a step are donated, and an evaluation reshards all rows."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec as P, reshard

RNG = np.random.default_rng(24)
INPUTS = RNG.normal(size=(48, 6)).astype(np.float32)
LABELS = RNG.integers(0, 4, 48)


def logits_of(weights, inputs):
    return jax.nn.relu(inputs @ weights[0]) @ weights[1]


def loss_of(weights, inputs, labels):
    chosen = jax.nn.log_softmax(logits_of(weights, inputs)) * jax.nn.one_hot(labels, 4)
    return -jnp.mean(jnp.sum(chosen, axis=1))


@jax.jit(donate_argnums=0)
def step(weights, inputs, labels):
    gradient = jax.grad(loss_of)(weights, inputs, labels)
    return [weight - 0.1 * change for weight, change in zip(weights, gradient, strict=True)]


@jax.jit
def accuracy_of(weights, inputs, labels):
    return jnp.mean(jnp.argmax(logits_of(weights, inputs), axis=1) == labels)


def program(mesh: Mesh):
    axes = jax.make_mesh((mesh.size,), ("rows",), axis_types=(AxisType.Explicit,), devices=mesh.devices.ravel())
    rows = NamedSharding(axes, P("rows"))
    draws = np.random.default_rng(25)
    first = [np.float32(draws.normal(size=shape)) for shape in ((6, 8), (8, 4))]
    weights = jax.device_put(first, NamedSharding(axes, P()))
    accuracies = []
    for epoch in range(2):
        order = np.random.default_rng(epoch).permutation(48)
        for chosen in order.reshape(4, 12):
            with jax.set_mesh(axes):
                weights = step(weights, *jax.device_put((INPUTS[chosen], LABELS[chosen]), rows))
        accuracies.append(accuracy_of(weights, reshard(INPUTS, rows), reshard(LABELS, rows)))
    return {"weights": weights, "accuracies": accuracies}
