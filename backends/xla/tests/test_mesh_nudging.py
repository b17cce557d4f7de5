"""Results of compiled operations move by one ulp, in the same way whether the ways are constants or computed.

Clauses: J-58.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from shares import one_in

from simstrategy_xla.mesh_check import nudging
from simstrategy_xla.mesh_check.lowering import Rules

SHAPES = ((), (3,), (0,), (5, 7), (2, 3, 4), (64, 65))


def given(shape, dtype):
    values = np.random.default_rng(len(shape)).normal(size=shape) * 3
    if values.size > 3:
        values.flat[:4] = np.nan, np.inf, 2.0, 1e-7
    return jnp.asarray(values, dtype)


def root_and_sum(one):
    return jnp.sqrt(jnp.abs(one)) + one.sum()


def moved(function, values, *, pattern, sums=False, zeros=False):
    jax.clear_caches()
    rules = Rules()
    with nudging.nudged(rules, pattern, sums=sums, zeros=zeros):
        found = jax.jit(lambda given: [function(one) for one in given])(values)
    jax.clear_caches()
    return [np.asarray(one) for one in found]


@pytest.mark.parametrize("dtype", one_in(2, [jnp.float32, jnp.bfloat16]), ids=["float32", "bfloat16"])
@pytest.mark.parametrize("sums", [False, True], ids=["plain", "sums"])
def test_ways_that_are_constants_are_those_that_are_computed(monkeypatch, dtype, sums):
    found = {}
    for largest in (0, 1 << 20):
        monkeypatch.setattr(nudging, "_CONSTANTS_MAX", largest)
        values = [given(shape, dtype) for shape in SHAPES]
        found[largest] = [
            one.tobytes() for pattern in (1, 2) for one in moved(root_and_sum, values, pattern=pattern, sums=sums)
        ]
    assert found[0] == found[1 << 20]
    assert found[0][: len(SHAPES)] != found[0][len(SHAPES) :]


@pytest.mark.parametrize("size", [100, 5000])
def test_about_two_thirds_move_by_one_ulp_and_integers_stay(size):
    values = [jnp.linspace(1.1, 9.0, size), jnp.full(size, 4.0)]
    found, whole = moved(jnp.sqrt, values, pattern=1)
    plain = np.sqrt(np.asarray(values[0]))
    units = np.abs(found - plain) / np.spacing(plain)
    assert units.max() <= 2
    assert 0.5 < (units > 0).mean() < 0.8
    assert whole.tolist() == [2.0] * size
