"""What public programs have: state in their file, optimizers that divide by a size, libraries elsewhere.

Clauses: J-104, J-105, J-106, J-108.
"""

import os
import sys
import weakref

import jax.numpy as jnp
import pytest
from test_mesh_check import program_of

import simstrategy as ss
from simstrategy_xla.mesh_check.results import result_of

CHANGED = """
RANDOM = np.random.RandomState(0)

def program(mesh: Mesh):
    weights = jnp.asarray(RANDOM.normal(size=3))
    rows = jax.device_put(ROWS, NamedSharding(mesh, P("data")))
    return jax.jit(lambda weights, rows: weights - jnp.mean(rows, 0) * FACTOR)(weights, rows)
"""

DONATED = """
WEIGHTS = jnp.zeros(3)

@partial(jax.jit, donate_argnums=0)
def step(weights, rows):
    return weights - jnp.mean(rows, 0)

def program(mesh: Mesh):
    return step(WEIGHTS, jax.device_put(ROWS, NamedSharding(mesh, P("data"))))
"""


@pytest.mark.slow
@pytest.mark.parametrize("text", [CHANGED.replace("FACTOR", "1"), DONATED])
def test_a_program_that_changes_what_its_file_keeps_is_judged(tmp_path, text):
    report = ss.check(program_of(tmp_path, text), replicas=[1, 2])
    report.raise_for_difference()
    assert "Each run has a process of its own: a second run in one process" in str(report)


@pytest.mark.slow
def test_a_difference_of_a_program_that_changes_what_its_file_keeps_is_found(tmp_path):
    (found,) = ss.check(program_of(tmp_path, CHANGED.replace("FACTOR", "mesh.size")), replicas=[1, 2]).findings
    assert "mul at train.py:14" in found.cause


@pytest.mark.slow
def test_a_program_without_a_seed_is_not_judged(tmp_path):
    report = ss.check(
        program_of(tmp_path, CHANGED.replace("RandomState(0)", "RandomState()").replace("FACTOR", "1")), replicas=[1, 2]
    )
    assert "Each run has a process" not in str(report)
    assert [row.why for row in report.rows if row.law == "replicas"] == ["not repeatable"]
    assert not report.findings


SCALED = """
import moving

def program(mesh: Mesh):
    @jax.jit
    def step(state, rows):
        def loss_of(weights):
            errors = rows @ weights - 1
            return jnp.sum(errors**2) / (len(rows) // mesh.size)

        loss, gradient = jax.value_and_grad(loss_of)(state["weights"])
        return moving.updated(state, gradient), loss

    state = {"weights": jnp.ones(3), "first": jnp.zeros(3), "second": jnp.zeros(3)}
    for _ in range(3):
        state, loss = step(state, jax.device_put(ROWS, NamedSharding(mesh, P("data"))))
    return {"weights": state["weights"], "loss": loss}
"""

MOVING = """
import jax.numpy as jnp

def updated(state, gradient):
    first = 0.9 * state["first"] + 0.1 * gradient
    second = 0.99 * state["second"] + 0.01 * gradient**2
    weights = state["weights"] - 0.01 * first / (jnp.sqrt(second) + 1e-8)
    return {"weights": weights, "first": first, "second": second}
"""


@pytest.mark.slow
@pytest.mark.deep
def test_a_loss_whose_factor_an_optimizer_divides_out_is_named_where_it_is_computed(tmp_path, monkeypatch):
    packages = tmp_path / "elsewhere" / "site-packages"  # of no Python that runs here
    packages.mkdir(parents=True)
    (packages / "moving.py").write_text(MOVING)
    monkeypatch.setenv("PYTHONPATH", f"{packages}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    monkeypatch.setattr(sys, "path", [*sys.path, str(packages)])
    (found,) = ss.check(program_of(tmp_path, SCALED), replicas=[1, 2]).findings
    assert found.kind == "scaled by the number of replicas"
    lines = (tmp_path / "train.py").read_text().splitlines()
    place = found.cause.partition("train.py:")[2].partition(",")[0]
    assert "mesh.size" in lines[int(place) - 1]
    assert "in step 1, " in found.cause
    assert "from which result['loss'] is computed" in found.cause
    assert "moving.py" not in found.cause


GROWING = """
def program(mesh: Mesh):
    @jax.jit
    def step(weights, rows):
        return weights - 0.1 * jax.grad(lambda one: jnp.mean(jax.vmap(lambda row: one @ row)(rows) ** 2))(weights)

    size, weights = 3 * mesh.size, jnp.ones((2, 3))
    for start in range(0, 12, size):
        weights = step(weights, jax.device_put(ROWS[start : start + size], NamedSharding(mesh, P("data"))))
    return weights
"""


@pytest.mark.slow
def test_a_batch_that_grows_is_known_where_a_model_of_one_row_is_mapped(tmp_path):
    (found,) = ss.check(program_of(tmp_path, GROWING), replicas=[1, 2]).findings
    assert found.kind == "global batch grows with the number of replicas"


class Held:
    """An object with a weak reference."""

    def __init__(self, value):
        self.value = value
        self.reference = weakref.ref(type(self))


@pytest.mark.usefixtures("xla")  # it makes the devices of this process
def test_a_weak_reference_in_a_result_is_no_value_that_is_left_out():
    contents = result_of(Held(jnp.ones(3)), []).contents
    assert [path for path, _ in contents.leaves] == ["result.value"]
    assert not contents.partly
