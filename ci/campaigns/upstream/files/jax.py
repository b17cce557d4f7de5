"""Functions of arrays that are cut over a mesh."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P


def drawn(seed, *shape):
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32)


def cut(value, mesh, *axes):
    return jax.device_put(value, NamedSharding(mesh, P(*axes)))


def ROW_SUM(row):
    return row.sum()


def SCANNED(carry, row):
    return carry + row, carry * row


def SCANNED_TWO(carry, rows):
    return carry + rows[0] * rows[1], carry


def LOOPED(values):
    return lax.fori_loop(0, 3, lambda place, carry: carry * 0.5 + values[place], values[0])
