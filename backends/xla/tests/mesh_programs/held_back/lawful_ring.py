"""The devices add their gradients by sending them around in a ring; and the last row of the result is theirs."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

ROWS = np.random.default_rng(36).normal(size=(24, 5)).astype(np.float32)


def program(mesh: Mesh):
    count = mesh.size
    ring = [(rank, (rank + 1) % count) for rank in range(count)]

    @jax.jit
    @partial(jax.shard_map, mesh=mesh, in_specs=(P(), P("data")), out_specs=P(), check_vma=False)
    def step(center, rows):
        own = jnp.sum(rows - center, axis=0)
        total = passed = own
        for _ in range(count - 1):
            passed = jax.lax.ppermute(passed, "data", ring)
            total = total + passed
        # Every device added in another order; the first one's sum is taken for all.
        total = jax.lax.all_gather(total, "data")[0]
        return center + 0.5 * total / 24

    center = jnp.zeros(5)
    for _ in range(3):
        center = step(center, ROWS)
    return center
