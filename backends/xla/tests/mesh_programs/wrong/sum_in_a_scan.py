"""A training loop that is one compiled scan, in which means of the devices are added."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec as P

INPUTS = np.random.default_rng(13).normal(size=(5, 12, 3)).astype(np.float32)
TARGETS = INPUTS @ np.float32([1.0, 1.0, -1.0])


def program(mesh: Mesh):
    def step(weights, batch):
        inputs, targets = batch
        loss, gradient = jax.value_and_grad(lambda w: jnp.mean((inputs @ w - targets) ** 2))(weights)
        gradient = jax.lax.psum(gradient, "data")  # wrong: pmean; shows
        return weights - 0.05 * gradient, jax.lax.pmean(loss, "data")

    @jax.jit
    @partial(jax.shard_map, mesh=mesh, in_specs=(P(), P(None, "data")), out_specs=P(), check_vma=False)
    def train(weights, batches):
        return jax.lax.scan(step, weights, batches)

    weights, losses = train(jnp.zeros(3), (INPUTS, TARGETS))
    return {"weights": weights, "losses": losses}
