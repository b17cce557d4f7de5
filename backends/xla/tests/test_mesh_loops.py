"""Operations in the body of a loop are known as such, also where JAX makes a function of its own of the body.

Clauses: J-64.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, PartitionSpec
from lowered import sites_of


def total_of_turns(weights, rows):
    def turn(carry, row):
        return carry + jax.lax.psum(jnp.sum(row * weights), "data"), None

    return jax.lax.scan(turn, 0.0, rows)[0]


def total(weights, rows):
    return jax.lax.psum(jnp.sum(rows * weights), "data")


@pytest.mark.slow
@pytest.mark.usefixtures("xla")  # it makes the devices of this process
@pytest.mark.parametrize(
    ("function", "in_loop"),
    [
        (total, False),
        (jax.grad(total), False),
        (total_of_turns, True),
        (jax.grad(total_of_turns), True),
        (jax.jit(total), True),  # such a function may be called in a loop
    ],
    ids=["no loop", "gradient", "loop", "gradient of a loop", "inner function"],
)
@pytest.mark.parametrize("name", ["step", "<lambda>", "_train_step"])
def test_what_is_in_the_body_of_a_loop_is_known(function, in_loop, name):
    specs = {"in_specs": (PartitionSpec(), PartitionSpec("data")), "out_specs": PartitionSpec(), "check_vma": False}
    mapped = jax.shard_map(function, mesh=Mesh(np.array(jax.devices()[:1]), ("data",)), **specs)

    def step(weights, rows):
        return mapped(weights, rows)

    step.__name__ = name
    sites = sites_of(step)
    sums = [site.in_loop for site in sites if site.op == "SUM"]
    assert sums
    assert set(sums) == {in_loop}
    assert not any(site.in_loop for site in sites if site.kind in ("enter", "leave"))
