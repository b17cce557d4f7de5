"""Each device clips its own gradient to a norm, and the clipped ones are averaged."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec as P

INPUTS = np.random.default_rng(7).normal(size=(24, 3)).astype(np.float32)
INPUTS[:12] *= 6
TARGETS = INPUTS @ np.float32([1.0, 2.0, 3.0])


def clipped(gradient, most):
    norm = jnp.sqrt(jnp.sum(gradient**2))
    return gradient * jnp.minimum(1.0, most / norm)


def program(mesh: Mesh):
    @jax.jit
    @partial(jax.shard_map, mesh=mesh, in_specs=(P(), P("data"), P("data")), out_specs=P(), check_vma=False)
    def step(weights, inputs, targets):
        gradient = jax.grad(lambda w: jnp.mean((inputs @ w - targets) ** 2))(weights)
        gradient = clipped(gradient, 1.0)  # wrong: before the mean
        return weights - 0.1 * jax.lax.pmean(gradient, "data")  # shows

    weights = jnp.zeros(3)
    for _ in range(3):
        weights = step(weights, INPUTS, TARGETS)
    return weights
