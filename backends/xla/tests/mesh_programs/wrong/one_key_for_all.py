"""Dropout draws one mask on every device, from the same key, for rows that differ."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec as P

INPUTS = np.random.default_rng(11).normal(size=(24, 4)).astype(np.float32)
TARGETS = INPUTS.sum(axis=1)


def program(mesh: Mesh):
    @jax.jit
    @partial(jax.shard_map, mesh=mesh, in_specs=(P(), P(), P("data"), P("data")), out_specs=P(), check_vma=False)
    def step(weights, key, inputs, targets):
        kept = jax.random.bernoulli(key, 0.5, inputs.shape)  # wrong: drawn for a part of the batch
        gradient = jax.grad(lambda w: jnp.mean(((inputs * kept) @ w - targets) ** 2))(weights)
        return weights - 0.1 * jax.lax.pmean(gradient, "data")  # shows

    weights, key = jnp.zeros(4), jax.random.key(0)
    for number in range(3):
        weights = step(weights, jax.random.fold_in(key, number), INPUTS, TARGETS)
    return weights
