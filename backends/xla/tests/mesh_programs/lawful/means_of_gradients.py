"""A step that averages the gradients of equal parts."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

INPUTS = np.random.default_rng(0).normal(size=(36, 3)).astype(np.float32)
TARGETS = INPUTS @ np.float32([1.0, -2.0, 0.5])


def program(mesh: Mesh):
    @jax.jit
    @partial(jax.shard_map, mesh=mesh, in_specs=(P(), P("data"), P("data")), out_specs=P(), check_vma=False)
    def step(weights, inputs, targets):
        found = jax.value_and_grad(lambda w: jnp.mean((inputs @ w - targets) ** 2))(weights)
        loss, gradient = jax.lax.pmean(found, "data")
        return weights - 0.05 * gradient, loss

    weights = jnp.zeros(3)
    losses = []
    for first in (0, 12, 24):
        weights, loss = step(weights, INPUTS[first : first + 12], TARGETS[first : first + 12])
        losses.append(float(loss))
    return {"weights": weights, "losses": losses}
