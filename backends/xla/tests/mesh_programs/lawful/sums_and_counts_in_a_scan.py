"""Sums and counts are added in a compiled loop, and divided once."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

INPUTS = np.random.default_rng(13).normal(size=(5, 12, 3)).astype(np.float32)
TARGETS = INPUTS @ np.float32([1.0, 1.0, -1.0])


def program(mesh: Mesh):
    def step(weights, batch):
        inputs, targets = batch
        error = inputs @ weights - targets
        count = jax.lax.psum(jnp.float32(len(inputs)), "data")
        gradient = jax.lax.psum(2 * inputs.T @ error, "data") / count
        return weights - 0.05 * gradient, jax.lax.psum(jnp.sum(error**2), "data") / count

    @jax.jit
    @partial(jax.shard_map, mesh=mesh, in_specs=(P(), P(None, "data")), out_specs=P(), check_vma=False)
    def train(weights, batches):
        return jax.lax.scan(step, weights, batches)

    return train(jnp.zeros(3), (INPUTS, TARGETS))
