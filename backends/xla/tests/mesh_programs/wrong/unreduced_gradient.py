"""Each device steps with the gradient of its own rows; what it returns as replicated is not equal on all devices."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec as P

INPUTS = np.random.default_rng(2).normal(size=(24, 3)).astype(np.float32)
TARGETS = INPUTS @ np.float32([2.0, 1.0, -1.0])


def program(mesh: Mesh):
    @jax.jit
    @partial(jax.shard_map, mesh=mesh, in_specs=(P(), P("data"), P("data")), out_specs=P(), check_vma=False)
    def step(weights, inputs, targets):
        def loss_of(weights):
            return jnp.mean(jnp.square(inputs @ weights - targets))

        loss, gradient = jax.value_and_grad(loss_of)(weights)
        return weights - 0.1 * gradient, jax.lax.pmean(loss, "data")  # wrong: no pmean of the gradient

    weights = jnp.ones(3)
    for _ in range(3):
        weights, loss = step(weights, INPUTS, TARGETS)  # shows
    return weights, loss
