"""Each device draws noise of its own, from its own key, on purpose; the value that it moves is exempt."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

import simstrategy as ss

INPUTS = np.random.default_rng(16).normal(size=(24, 3)).astype(np.float32)


def program(mesh: Mesh):
    @jax.jit
    @partial(jax.shard_map, mesh=mesh, in_specs=(P(), P(), P("data")), out_specs=P(), check_vma=False)
    def step(mean, key, inputs):
        own = jax.random.fold_in(key, jax.lax.axis_index("data"))
        noise = jax.random.normal(own, inputs.shape) * 0.1
        found = jax.lax.pmean(jnp.mean(inputs, axis=0), "data")
        augmented = jax.lax.pmean(jnp.mean(inputs + noise, axis=0), "data")
        return 0.5 * mean + 0.5 * found, augmented

    mean, key = jnp.zeros(3), jax.random.key(7)
    for number in range(3):
        mean, augmented = step(mean, jax.random.fold_in(key, number), INPUTS)
    return {"mean": mean, "augmented": ss.exempt(augmented, reason="each device draws noise of its own")}
