"""The gradient of a loss that is summed over devices, inside of shard_map."""

import jax
import jax.numpy as jnp
from jax.sharding import Mesh, PartitionSpec

INPUTS, TARGETS = jnp.sin(jnp.arange(24.0)).reshape(8, 3), jnp.cos(jnp.arange(8.0))


def loss(weights, inputs, targets):
    return jax.lax.psum(jnp.sum((inputs @ weights - targets) ** 2), "data")


def program(mesh: Mesh):
    data, everywhere = PartitionSpec("data"), PartitionSpec()

    def gradient(weights, inputs, targets):
        return jax.lax.psum(jax.grad(loss)(weights, inputs, targets), "data")

    specs = {"in_specs": (everywhere, data, data), "out_specs": everywhere, "check_vma": False}
    return jax.jit(jax.shard_map(gradient, mesh=mesh, **specs))(jnp.zeros(3), INPUTS, TARGETS)
