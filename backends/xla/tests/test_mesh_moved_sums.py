"""What rounding leaves of a sum whose terms cancel is no fault, also where it leaves exactly zero in one run.

Clauses: J-58.
"""

import jax.numpy as jnp
import numpy as np
import pytest
from shares import one_in
from test_mesh_check import program_of
from test_mesh_nudging import moved

import simstrategy as ss
from simstrategy_xla.mesh_check.cancelling import cancel_in
from simstrategy_xla.mesh_check.jobs import Moment, Record, Site
from simstrategy_xla.mesh_check.moved_sums import MovedSums

PROGRAM = """
HALF = np.random.default_rng({seed}).normal(size=(6, 3)).astype(np.float32)
ROWS = np.concatenate([HALF, -HALF])[np.random.default_rng({seed}).permutation(12)]
BOTH = np.concatenate([ROWS, np.abs(ROWS)], 1)[:, {columns}] * np.float32({scale})

def total(mesh: Mesh):
    @jax.jit
    @partial(jax.shard_map, mesh=mesh, in_specs=P("data"), out_specs=P(), check_vma=False)
    def of(rows):
        return jax.lax.psum({sum}, "data")
    return of(BOTH)

def program(mesh: Mesh):
    rate = {rate}
    return -rate * jnp.sign(total(mesh)[:3]), rate * total(mesh)[3:]
"""


def judged(tmp_path, **given):
    text = PROGRAM.format(**{"seed": 19, "columns": ":", "scale": 1, "rate": 0.01, "sum": "jnp.sum(rows, 0)", **given})
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
    one_in(2, [{}, {"columns": ":3"}, {"columns": "[0, 0, 0, 3]"}, {"scale": 2**30}]),
    ids=["beside others", "nothing else", "one alone", "whole numbers, which do not move"],
)
def test_a_sum_that_is_exactly_zero_in_the_reference_alone_is_not_accused(tmp_path, made, given):
    report = judged(tmp_path, **given)
    assert report.verdict == "undecided", str(report)
    assert "0.01 against -0.0" in str(report), str(report)
    assert made == [1, 2]


ADDED = "jax.lax.scan(lambda total, row: (total + row, None), jnp.zeros(rows.shape[1]), rows)[0]"


@pytest.mark.slow
def test_what_cancels_between_devices_and_in_single_additions_of_the_reference_is_not_accused(tmp_path, made):
    report = judged(tmp_path, seed=124, columns=":3", sum=ADDED)
    assert report.verdict == "undecided", str(report)
    assert made == [1, 2]


@pytest.mark.parametrize(
    ("terms", "total", "op", "expected"),
    [
        ([1.0, -1.0], 0.0, "SUM", True),
        ([1.0, -1.0], 5e-8, "MEAN", True),
        ([1.0, -0.5], 0.5, "SUM", False),
        ([0.0, 0.0], 0.0, "SUM", False),
        ([1.0, -1.0], 1.0, "MAX", False),
        ([3.0], 3.0, "SUM", False),
        ([None, None], 0.0, "SUM", True),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "complex64"])
def test_terms_that_cancel_are_found_in_a_record(terms, total, op, expected, dtype):
    site = Site(0, 0, "all_reduce", op, "p.py:1", False, len(terms), 1)
    arrays = [None if one is None else np.array([2.0, one], jnp.dtype(dtype)) for one in terms]
    result = np.array([4.0, total], jnp.dtype(dtype))
    moments = [Moment(0, device, (array, result)) for device, array in enumerate(arrays)]
    assert cancel_in(Record((site,), tuple(moments))) is expected


def test_whole_numbers_that_cancel_are_exact():
    site = Site(0, 0, "all_reduce", "SUM", "p.py:1", False, 1, 1)
    assert not cancel_in(Record((site,), (Moment(0, 0, (np.array([1]), np.array([0]))),)))


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
