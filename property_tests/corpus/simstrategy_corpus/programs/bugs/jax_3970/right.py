"""The gradient of a loss over a mesh, computed on each shard."""

import argparse
import os

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec


def program(mesh: Mesh):
    inputs = jnp.sin(jnp.arange(24.0)).reshape(8, 3)
    targets = jnp.cos(jnp.arange(8.0))

    def gradient(weights, inputs, targets):
        def loss(weights):
            total = jnp.sum((inputs @ weights - targets) ** 2) / 8
            return total

        return jax.lax.psum(jax.grad(loss)(weights), "data")

    data, everywhere = PartitionSpec("data"), PartitionSpec()
    step = jax.jit(
        jax.shard_map(gradient, mesh=mesh, in_specs=(everywhere, data, data), out_specs=everywhere, check_vma=False)
    )
    weights = jnp.zeros(3)
    for _ in range(3):
        weights = weights - 0.1 * step(weights, inputs, targets)
    return weights


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--replicas", type=int, default=2)
    count = parser.parse_args().replicas
    os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={count}"
    os.environ["JAX_PLATFORMS"] = "cpu"
    print("result weights", *program(Mesh(np.array(jax.devices()), ("data",))).tolist())
