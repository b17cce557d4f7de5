"""What a watch notes of a step while JAX lowers it: the sites of its code, without a run."""

import jax
import jax.numpy as jnp

from simstrategy_xla.mesh_check.lowering import Rules
from simstrategy_xla.mesh_check.watching import Watch


def sites_of(step, *, lines=False):
    """Returns the sites of a step of weights [3] and rows [4, 3].  lines: whether those of operations are noted."""
    rules = Rules()
    try:
        watch = Watch(rules, lines=lines)
        jax.jit(step).lower(jnp.zeros(3), jnp.ones((4, 3)))
    finally:
        rules.restore(0)
    return watch.record().sites
