"""What JAX's own functions return is recorded at the line that calls them; an innocent line is not named.

Clauses: J-100, J-101, J-103.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, PartitionSpec
from lowered import sites_of
from test_mesh_check import program_of

import simstrategy as ss


@pytest.mark.slow
@pytest.mark.usefixtures("xla")  # it makes the devices of this process
def test_results_of_jaxs_functions_have_the_line_that_calls_them():
    def step(weights, rows):
        plain = jnp.where(rows > 1, rows, 0)
        kept = jnp.where(jax.random.bernoulli(jax.random.key(0), 0.5, rows.shape), plain, 0)
        return jax.lax.psum(weights, "data"), kept

    data = PartitionSpec("data")
    specs = {"in_specs": (PartitionSpec(), data), "out_specs": (PartitionSpec(), data)}
    mesh = Mesh(np.array(jax.devices()[:1]), ("data",))
    sites = sites_of(jax.shard_map(step, mesh=mesh, check_vma=False, **specs), lines=True)
    found = [(site.kind, site.drawn) for site in sites if site.own]
    assert [one for one in found if one[0] == "where"] == [("where", False), ("where", True)]


CLIPPED = """
def program(mesh: Mesh):
    @jax.jit
    @partial(jax.shard_map, mesh=mesh, in_specs=(P(), P("data")), out_specs=P(), check_vma=False)
    def step(params, rows):
        gradients = jax.grad(lambda one: jnp.mean((rows @ one["w"] + one["b"] - rows[:, 0] * 2) ** 2))(params)
        norm = jnp.sqrt(sum(jnp.sum(one * one) for one in jax.tree.leaves(gradients)))
        gradients = jax.tree.map(lambda one: one * SCALE, gradients)
        return jax.tree.map(lambda one, other: one - 0.1 * jax.lax.pmean(other, "data"), params, gradients)
    params = {"b": jnp.zeros(1), "w": jnp.zeros(3)}
    for _ in range(2):
        params = step(params, ROWS)
    return params
"""


@pytest.mark.slow
@pytest.mark.deep
def test_clipping_of_a_set_with_a_bias_of_one_element_is_found(tmp_path):
    report = ss.check(program_of(tmp_path, CLIPPED.replace("SCALE", "jnp.minimum(1, 0.5 / norm)")), replicas=[1, 2])
    assert {one.kind for one in report.findings} == {"clipping before the sum"}, str(report)


@pytest.mark.slow
@pytest.mark.deep
def test_a_gradient_of_a_mean_over_a_part_is_not_named_as_what_differs(tmp_path):
    report = ss.check(program_of(tmp_path, CLIPPED.replace("SCALE", "jnp.tanh(norm) / (1 + norm)")), replicas=[1, 2])
    cause = report.findings[0].cause
    assert "The kind is not recognised: the first value of which the replicas' sum or mean is not" in cause
    lines = (tmp_path / "train.py").read_text().splitlines()
    named = int(cause.rpartition("train.py:")[2].rstrip("."))
    assert "norm = " in lines[named - 1], cause


DROPPED = """
def program(mesh: Mesh):
    @jax.jit
    @partial(jax.shard_map, mesh=mesh, in_specs=(P(), P("data"), P()), out_specs=P(), check_vma=False)
    def step(weights, rows, key):
        kept = jnp.where(jax.random.bernoulli(key, 0.7, rows.shape), rows / 0.7, 0.0)
        return weights - 0.1 * jax.lax.pmean(jax.grad(lambda one: jnp.mean((kept @ one - 1) ** 2))(weights), "data")
    weights = jnp.zeros(3)
    for number in range(2):
        weights = step(weights, ROWS, jax.random.key(number))
    return weights
"""


@pytest.mark.slow
@pytest.mark.deep
def test_dropout_with_one_key_is_named_where_the_inputs_are_dropped(tmp_path):
    (found,) = ss.check(program_of(tmp_path, DROPPED), replicas=[1, 2]).findings
    assert found.kind == "different draws"
    lines = (tmp_path / "train.py").read_text().splitlines()
    named = int(found.cause.partition("where at train.py:")[2].partition(" ")[0])
    assert "jnp.where(" in lines[named - 1], found.cause


@pytest.mark.slow
@pytest.mark.parametrize(
    "returned",
    [
        "jax.jit(jax.shard_map(lambda x: x, mesh=mesh, in_specs=P('data'), out_specs=P('data')))(jnp.ones(2))",
        "jax.device_put(jnp.ones(2), NamedSharding(mesh, P('data')))",
        pytest.param("jnp.ones(2).reshape(mesh.size, -1)", marks=pytest.mark.deep),
    ],
)
def test_a_size_that_devices_do_not_divide_has_advice(tmp_path, returned):
    report = ss.check(program_of(tmp_path, f"def program(mesh: Mesh):\n    return {returned}\n"), replicas=[1, 3])
    assert "1, 2, 3 and 4 divide 12. Or leave numbers out, as by --replicas 1,2" in str(report)
    other = program_of(tmp_path, "def program(mesh: Mesh):\n    return jnp.ones(2).reshape(7, -1)\n", "other.py")
    assert "divide 12" not in str(ss.check(other, replicas=[1, 3]))
