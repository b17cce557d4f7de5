"""Loss scaling in float16: all devices skip a step where the gradient of any of them is not finite."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

INPUTS = np.random.default_rng(37).normal(size=(24, 3)).astype(np.float16)
INPUTS[20] = 90.0
TARGETS = (INPUTS @ np.float16([0.1, 0.2, -0.1])).astype(np.float16)


def program(mesh: Mesh):
    @jax.jit
    @partial(jax.shard_map, mesh=mesh, in_specs=(P(), P(), P("data"), P("data")), out_specs=P(), check_vma=False)
    def step(weights, scale, inputs, targets):
        def loss_of(weights):
            errors = inputs @ weights.astype(jnp.float16) - targets
            return jnp.sum(errors.astype(jnp.float32) ** 2) * scale / 24

        gradient = jax.grad(lambda w: loss_of(w).astype(jnp.float16))(weights)
        finite = jax.lax.pmin(jnp.all(jnp.isfinite(gradient)).astype(jnp.int32), "data") > 0
        gradient = jax.lax.psum(gradient, "data") / scale
        weights = jnp.where(finite, weights - 0.001 * gradient, weights)
        return weights, jnp.where(finite, scale, scale / 16), finite

    weights, scale, steps = jnp.zeros(3), jnp.float32(2.0**14), 0
    for _ in range(6):
        weights, scale, finite = step(weights, scale, INPUTS, TARGETS)
        steps += bool(finite)
    return {"weights": weights, "scale": scale, "steps": steps}
