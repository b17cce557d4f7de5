"""Running statistics of each device's own rows, kept and returned in parts and exempt; the parameters are averaged."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

import simstrategy as ss

INPUTS = np.random.default_rng(18).normal(1.0, 2.0, size=(24, 3)).astype(np.float32)
TARGETS = INPUTS.sum(axis=1)


def program(mesh: Mesh):
    specs = (P(), P("data"), P("data"), P("data"))

    @jax.jit
    @partial(jax.shard_map, mesh=mesh, in_specs=specs, out_specs=(P(), P("data")), check_vma=False)
    def step(weights, means, inputs, targets):
        gradient = jax.grad(lambda w: jnp.mean((inputs @ w - targets) ** 2))(weights)
        means = 0.9 * means + 0.1 * jnp.mean(inputs, axis=0, keepdims=True)
        return weights - 0.02 * jax.lax.pmean(gradient, "data"), means

    weights, means = jnp.zeros(3), jnp.zeros((mesh.size, 3))
    for _ in range(3):
        weights, means = step(weights, means, INPUTS, TARGETS)
    return {"weights": weights, "means": ss.exempt(means, reason="statistics of each device's rows, on purpose")}
