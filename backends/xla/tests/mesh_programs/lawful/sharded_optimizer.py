"""Each device keeps the momentum of a part of the parameters: psum_scatter of gradients, all_gather of parameters."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

INPUTS = np.random.default_rng(15).normal(size=(24, 12)).astype(np.float32)
TARGETS = INPUTS @ np.linspace(-1, 1, 12, dtype=np.float32)


def program(mesh: Mesh):
    specs = (P(), P("data"), P("data"), P("data"))

    @jax.jit
    @partial(jax.shard_map, mesh=mesh, in_specs=specs, out_specs=(P(), P("data")), check_vma=False)
    def step(weights, momentum, inputs, targets):
        gradient = jax.grad(lambda w: jnp.sum((inputs @ w - targets) ** 2))(weights) / 24
        part = jax.lax.psum_scatter(gradient, "data", tiled=True)
        momentum = 0.9 * momentum + part
        change = jax.lax.all_gather(momentum, "data", tiled=True)
        return weights - 0.02 * change, momentum

    weights, momentum = jnp.zeros(12), jnp.zeros(12)
    for _ in range(4):
        weights, momentum = step(weights, momentum, INPUTS, TARGETS)
    return {"weights": weights, "momentum": momentum}
