"""Which results are computed from a collective, and where random numbers enter, is read from a function's form.

Clauses: J-88, J-89, J-90, J-91.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, PartitionSpec
from lowered import sites_of
from test_mesh_check import program_of

import simstrategy as ss
from simstrategy_xla.mesh_check.jobs import Record
from simstrategy_xla.mesh_check.points import facts_of
from simstrategy_xla.mesh_check.reaching import reached_in


def in_axis(function):
    return jax.make_jaxpr(function, axis_env=[("data", 2)])(jnp.ones(3), jnp.ones(())).jaxpr


def looped(weights, total):
    def turn(_, carry):
        own, summed = carry
        return own - 0.1 * jnp.tanh(own), summed + jax.lax.psum(own.sum(), "data")

    return jax.lax.fori_loop(0, 3, turn, (weights, total))


def chosen(weights, total):
    return jax.lax.cond(jax.lax.psum(total, "data") > 0, lambda: weights, lambda: 2 * weights), total


def inner(weights, total):
    return jax.jit(lambda one: jax.lax.psum(one, "data"))(weights), total


@pytest.mark.parametrize(("function", "results"), [(looped, {1}), (chosen, {0}), (inner, {0})])
def test_results_that_a_collective_reaches_are_followed_through_bodies(function, results):
    (found,) = reached_in(in_axis(function)).results.values()
    assert found == results


def test_what_random_numbers_enter_is_known_of_each_operation():
    def step(key, rows):
        return jnp.tanh(rows) + jnp.exp(jax.random.normal(key, rows.shape))

    found = reached_in(jax.make_jaxpr(step)(jax.random.key(0), jnp.ones(3)).jaxpr)
    known = {name: found.is_drawn((name, traceback)) for name, traceback in found.known}
    assert (known["tanh"], known["exp"]) == (False, True)
    assert found.is_drawn(("tanh", None)) is None


@pytest.mark.slow
@pytest.mark.usefixtures("xla")  # it makes the devices of this process
def test_each_call_of_an_inner_function_has_a_site_of_its_own():
    @jax.jit
    def summed(value):
        return jax.lax.psum(value, "data")

    def step(weights, rows):
        return summed(weights), summed(2 * weights), rows

    data = PartitionSpec("data")
    specs = {"in_specs": (PartitionSpec(), data), "out_specs": (PartitionSpec(), PartitionSpec(), data)}
    mesh = Mesh(np.array(jax.devices()[:1]), ("data",))
    sites = sites_of(jax.shard_map(step, mesh=mesh, check_vma=False, **specs))
    assert [site.reaches for site in sites if site.kind == "all_reduce"] == [{0, 1}, {0, 1}]
    assert facts_of(Record(sites, ())).points == ()


NEVER_REDUCED = """
def program(mesh: Mesh):
    @jax.jit
    @partial(jax.shard_map, mesh=mesh, in_specs=(P(), P("data")), out_specs=(P(), P()), check_vma=False)
    def train(weights, rows):
        def turn(_, carry):
            weights, total = carry
            loss, gradient = jax.value_and_grad(lambda one: jnp.mean((rows @ one - 1) ** 2))(weights)
            return weights - 0.1 * gradient, total + jax.lax.pmean(loss, "data")
        return jax.lax.fori_loop(0, 3, turn, (weights, 0.0))
    return train(jnp.zeros(3), ROWS)
"""


@pytest.mark.slow
def test_a_cause_does_not_state_that_a_value_is_computed_from_a_collective_beside_it(tmp_path):
    report = ss.check(program_of(tmp_path, NEVER_REDUCED), replicas=[1, 2])
    cause = next(one.cause for one in report.findings if one.law == "replicas")
    assert "return of '[0]'" in cause
    assert "is computed" not in cause


OF_A_TABLE = """
RATES = np.float32([[0.1, 0.11, 0.12], [0.25, 0.3, 0.35]])
def program(mesh: Mesh):
    @jax.jit
    @partial(jax.shard_map, mesh=mesh, in_specs=(P(), P("data")), out_specs=P(), check_vma=False)
    def step(weights, rows):
        rate = jnp.asarray(RATES)[jax.lax.axis_index("data")] * 0.7
        return weights - jax.lax.pmean(rate * (weights - rows.mean(axis=0)), "data")
    return step(jnp.zeros(3), ROWS)
"""


@pytest.mark.slow
def test_numbers_of_each_device_are_no_draws_where_no_random_number_enters(tmp_path):
    (found,) = ss.check(program_of(tmp_path, OF_A_TABLE), replicas=[1, 2]).findings
    assert found.kind is None
    assert "no random numbers enter it" in found.cause


OF_A_BATCH = """
def program(mesh: Mesh):
    def step(rows):
        of_batch = jax.vmap(lambda row: jax.lax.psum(row, "batch"), axis_name="batch")(rows)[0]
        return jax.lax.pmean(of_batch, "data")
    return jax.jit(jax.shard_map(step, mesh=mesh, in_specs=P("data"), out_specs=P(), check_vma=False))(ROWS)
"""


@pytest.mark.slow
def test_a_sum_over_an_axis_that_vmap_names_is_none_between_devices(tmp_path):
    (found,) = ss.check(program_of(tmp_path, OF_A_BATCH), replicas=[1, 2]).findings
    assert (found.site, found.kind) == ("train.py:12", "divided by the number of replicas once too often")


USED_TWICE = """
@jax.jit
def larger(one, other):
    return jnp.maximum(one, other) + jnp.log1p(jnp.exp(-jnp.abs(one - other)))
def program(mesh: Mesh):
    @jax.jit
    @partial(jax.shard_map, mesh=mesh, in_specs=(P(), P("data")), out_specs=P(), check_vma=False)
    def step(weights, rows):
        first = larger(weights, rows[0])
        each = jax.lax.reduce(rows, -jnp.inf, larger, (0,))
        return weights - jax.lax.psum(each, "data") + 0 * jax.lax.pmean(first, "data")
    return step(jnp.zeros(3), ROWS)
"""


@pytest.mark.slow
def test_a_function_that_reduces_elements_and_stands_elsewhere_too_is_recorded(tmp_path):
    (found,) = ss.check(program_of(tmp_path, USED_TWICE), replicas=[1, 2]).findings
    assert "ends where" not in found.cause
    assert found.site == "train.py:18"


NOT_COMPILED = """
@jax.jit
def larger(one, other):
    return jnp.maximum(one, other) + jnp.log1p(jnp.exp(-jnp.abs(one - other)))
def program(mesh: Mesh):
    rows = jax.device_put(ROWS, NamedSharding(mesh, P("data")))
    return jax.jit(lambda rows: larger(rows[0], rows[1]) + jax.lax.reduce(rows, -jnp.inf, larger, (0,)))(rows)
"""


@pytest.mark.slow
def test_an_error_of_xla_is_repeatable_whatever_its_instructions_are_called(tmp_path):
    report = ss.check(program_of(tmp_path, NOT_COMPILED), replicas=[1, 2])
    assert report.verdict == "differ"
    assert "Unsupported reduction computation" in report.findings[0].text
