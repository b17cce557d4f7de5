"""What rounding leaves of a sum whose terms cancel is no fault, also where it leaves exactly zero in one run.

Clauses: J-58.
"""

import jax.numpy as jnp
import numpy as np
import pytest
from test_mesh_check import program_of
from test_mesh_nudging import moved

import simstrategy as ss
from simstrategy_xla.mesh_check.moved_sums import MovedSums

PROGRAM = """
HALF = np.random.default_rng({seed}).normal(size=(6, 3)).astype(np.float32)
ROWS = np.concatenate([HALF, -HALF])[np.random.default_rng({seed}).permutation(12)]
BOTH = np.concatenate([ROWS, np.abs(ROWS)], 1)[:, {columns}] * np.float32({scale})

def total(mesh: Mesh):
    @jax.jit
    @partial(jax.shard_map, mesh=mesh, in_specs=P("data"), out_specs=P(), check_vma=False)
    def of(rows):
        return jax.lax.psum(jnp.sum(rows, 0), "data")
    return of(BOTH)

def program(mesh: Mesh):
    rate = {rate}
    return -rate * jnp.sign(total(mesh)[:3]), rate * total(mesh)[3:]
"""


def judged(tmp_path, **given):
    text = PROGRAM.format(**{"seed": 19, "columns": ":", "scale": 1, "rate": 0.01, **given})
    return ss.check(program_of(tmp_path, text), replicas=(1, 2))


@pytest.fixture
def made(monkeypatch):
    """The numbers of devices whose runs were made again with moved sums."""
    counts = []
    plain = MovedSums._moved

    def noted(self, measured, count):
        counts.append(count)
        return plain(self, measured, count)

    monkeypatch.setattr(MovedSums, "_moved", noted)
    return counts


@pytest.mark.parametrize("pattern", [1, 2])
def test_exact_zeros_beside_other_elements_move_where_that_is_chosen_alone(pattern):
    values = [jnp.asarray([[1, 1, 1], [-1, 1, -1]], jnp.float32), jnp.asarray([[1], [-1]], jnp.float32)]
    for zeros in (False, True):
        found, alone = moved(lambda one: one.sum(0), values, pattern=pattern, sums=True, zeros=zeros)
        step = 2 * np.finfo(np.float32).eps if zeros else 0.0
        assert np.abs(found).tolist() == [step, 2.0, step]
        assert alone == [0.0]


@pytest.mark.slow
@pytest.mark.parametrize(
    "given",
    [{}, {"columns": ":3"}, {"columns": "[0, 0, 0, 3]"}, {"scale": 2**30}],
    ids=["beside others", "nothing else", "one alone", "whole numbers, which do not move"],
)
def test_a_sum_that_is_exactly_zero_in_the_reference_alone_is_not_accused(tmp_path, made, given):
    report = judged(tmp_path, **given)
    assert report.verdict == "undecided", str(report)
    assert "0.01 against -0.0" in str(report), str(report)
    assert made == [1, 2]


@pytest.mark.slow
def test_a_fault_that_moved_sums_cannot_explain_needs_no_more_runs(tmp_path, made):
    report = judged(tmp_path, columns="[3, 4, 5, 3]", rate="0.01 * mesh.size")
    assert report.verdict == "differ", str(report)
    assert made == []


@pytest.mark.slow
def test_a_fault_beside_a_sum_that_cancels_is_named_and_the_sum_is_not(tmp_path, made):
    report = judged(tmp_path, rate="0.01 * mesh.size")
    (row,) = [row for row in report.rows if row.law == "replicas"]
    assert made == [1, 2]
    assert row.problem.startswith("result[1]: "), row.problem
    assert report.verdict == "differ"
