"""Results of compiled operations move by one ulp, in the same way whether the ways are constants or computed.

Also where they move on the host; and one compiled program serves all patterns.

Clauses: J-58.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from shares import one_in

from simstrategy_xla.mesh_check import moving, nudging
from simstrategy_xla.mesh_check.host_calls import on_host, raise_problem
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


PLACES = {"computed": (0, 0), "constants": (1 << 20, 0), "on the host": (1 << 20, 1 << 20)}
"""Up to how many elements the ways are constants, and arrays move on the host."""


@pytest.mark.parametrize("dtype", one_in(2, [jnp.float32, jnp.bfloat16]), ids=["float32", "bfloat16"])
@pytest.mark.parametrize("sums", [False, True], ids=["plain", "sums"])
def test_ways_are_the_same_as_constants_and_computed_and_on_the_host(monkeypatch, dtype, sums):
    found = {}
    values = [given(shape, dtype) for shape in SHAPES]
    for place, (constants, on_the_host) in PLACES.items():
        monkeypatch.setattr(moving, "_CONSTANTS_MAX", constants)
        monkeypatch.setattr(nudging, "_ON_HOST_MAX", on_the_host)
        found[place] = [
            one.tobytes() for pattern in (1, 2) for one in moved(root_and_sum, values, pattern=pattern, sums=sums)
        ]
    assert found["computed"] == found["constants"] == found["on the host"]
    assert found["computed"][: len(SHAPES)] != found["computed"][len(SHAPES) :]


@pytest.mark.parametrize("sums", [False, True], ids=["plain", "sums"])
def test_a_program_that_was_compiled_for_one_pattern_serves_another_one(sums):
    values = [given(shape, jnp.float32) for shape in SHAPES]
    made = []

    @jax.jit
    def function(values):
        made.append(1)
        return [root_and_sum(one) for one in values]

    jax.clear_caches()
    rules = Rules()
    found = {}
    for pattern in (1, 2, 3):
        with nudging.nudged(rules, pattern, sums=sums):
            found[pattern] = [np.asarray(one).tobytes() for one in function(values)]
    jax.clear_caches()
    assert made == [1]
    for pattern, results in found.items():
        alone = moved(root_and_sum, values, pattern=pattern, sums=sums)
        assert results == [one.tobytes() for one in alone]


def test_what_fails_on_the_host_is_raised():
    class Fails(NamedTuple):
        def of(self, value, number):
            raise ArithmeticError("on the host")

    jax.jit(lambda value: on_host(Fails(), value))(jnp.ones(3)).block_until_ready()
    with pytest.raises(ArithmeticError, match="on the host"):
        raise_problem()
    raise_problem()


@pytest.mark.parametrize("size", [100, 5000])
def test_about_two_thirds_move_by_one_ulp_and_integers_stay(size):
    values = [jnp.linspace(1.1, 9.0, size), jnp.full(size, 4.0)]
    found, whole = moved(jnp.sqrt, values, pattern=1)
    plain = np.sqrt(np.asarray(values[0]))
    units = np.abs(found - plain) / np.spacing(plain)
    assert units.max() <= 2
    assert 0.5 < (units > 0).mean() < 0.8
    assert whole.tolist() == [2.0] * size
