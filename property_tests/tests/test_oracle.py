"""The oracle, against numbers written out by hand: it is what everything else is measured with."""

import numpy as np
import pytest

from simstrategy_conformance import oracle
from simstrategy_conformance.arrays import host_dtype
from simstrategy_conformance.observe import difference, first_difference, same_bits
from simstrategy_conformance.oracle import Each, all_reduced, chunks, divided, gathered, rounding_bound, run
from simstrategy_conformance.program import (
    AllGather,
    AllReduce,
    Assign,
    Batch,
    Data,
    Fetch,
    Give,
    Given,
    Local,
    Look,
    Merge,
    Program,
    Reduce,
    Share,
    Stop,
    VariableSpec,
    Write,
)


def f(*numbers):
    return np.array(numbers, np.float32)


UNAGGREGATED = VariableSpec("ON_WRITE", "NONE", "float32", 0.0)
TOTAL = VariableSpec("ON_READ", "SUM", "float32", 0.0)


def given(*parts, dtype="float32"):
    return Given(dtype, parts)


def result(*body, replicas=2, **more):
    found = run(Program(replicas=replicas, body=body, **more))
    assert found.error is None
    return found.results[0] if more.get("workers", 1) == 1 else found.results


def test_sums_wrap_and_means_are_divided_once():
    assert all_reduced([np.array([200], np.uint8), np.array([100], np.uint8)], "SUM").tolist() == [44]
    mean = all_reduced([np.array([3], np.int32), np.array([4], np.int32)], "MEAN")
    assert (mean.dtype.name, mean.tolist()) == ("float64", [3.5])
    assert all_reduced([np.array([3], np.int8)] * 2, "MEAN").dtype == "float32"
    assert all_reduced([np.array([3], np.int32)], "MEAN").dtype == "int32"
    assert all_reduced([f(1, np.nan), f(2, 0)], "MIN").tolist()[0] == 1


def test_complex_numbers_are_divided_part_by_part():
    assert same_bits(divided(np.array([1 + 2j], np.complex64), 3).real, f(1) / f(3))
    assert same_bits(divided(np.array([1 + 2j], np.complex64), 3).imag, f(2) / f(3))


def test_nothing_divided_by_nothing_is_nan():
    assert np.isnan(divided(f(0), 0))


def test_chunks_are_of_the_same_size_but_the_last():
    assert chunks(5, 4) == [(0, 2), (2, 4), (4, 5), (5, 5)]
    assert chunks(0, 2) == [(0, 0), (0, 0)]


def test_gathers_join():
    assert gathered([f(1), f(), f(2, 3)], 0).tolist() == [1, 2, 3]


def test_the_bound_is_of_the_additions():
    arrays, eps = [f(1e8), f(1), f(-1e8)], float(np.finfo("float32").eps)
    assert abs(float(all_reduced(arrays, "SUM")[0]) - 1) <= rounding_bound(arrays, eps)[0]
    assert rounding_bound([f(1), f(1)], eps)[0] < 3e-7
    assert rounding_bound([f(1)], eps)[0] == 0


def test_collectives_reach_every_replica():
    out, _, _ = result(AllReduce("SUM", given((1.0,), (2.0,))), AllGather(0, given((1.0,), (2.0, 3.0))))
    assert difference([(Each((f(3), f(3))), Each((f(1, 2, 3), f(1, 2, 3))))], out) is None


def test_one_replicas_values_are_not_wrapped():
    out, after, _ = result(Give(given((1.0,))), replicas=1, after=(Local(0),))
    assert difference(([(f(1),)], [(f(1),)]), (out, after)) is None


def test_a_merged_sum_is_one_object_and_a_given_value_is_not():
    out, _, _ = result(Merge("sum", given(1.0, 2.0)), Merge("same", given(1.0, 2.0)), Share())
    (merged, same, shared) = out[0]
    assert merged == 3
    assert isinstance(same, Each)
    assert shared[1] == "text"


def test_batches_are_reduced_by_their_elements():
    data = Data("float32", (1.0, 2.0, 3.0), 3)
    _, after, _ = result(Give(Batch()), data=data, after=(Reduce("MEAN", 0, 0), Reduce("SUM", 0, 0)))
    assert [float(one) for one in after] == [2.0, 6.0]


def test_workers_take_every_other_chunk():
    data = Data("float32", (0.0, 1.0, 2.0, 3.0), 4)
    one, other = result(Give(Batch()), replicas=2, workers=2, data=data)
    assert [part.tolist() for part in one[0][0][0].values] == [[0], [2]]
    assert [part.tolist() for part in other[0][0][0].values] == [[1], [3]]


@pytest.mark.parametrize(
    ("synchronization", "aggregation", "components"),
    [
        ("ON_WRITE", "SUM", [4, 4]),
        ("ON_WRITE", "MEAN", [2.5, 2.5]),
        ("ON_WRITE", "ONLY_FIRST_REPLICA", [2, 2]),
        ("ON_READ", "SUM", [2, 3]),
        ("ON_READ", "NONE", [2, 3]),
    ],
)
def test_a_replicas_write_does_what_the_table_says(synchronization, aggregation, components):
    spec = VariableSpec(synchronization, aggregation, "float32", 1.0)
    _, _, held = result(Write(0, "assign_add", given(1.0, 2.0)), variables=(spec,))
    assert [float(one) for one in held[0]] == components


def test_a_total_is_shared_out_and_read_as_a_total():
    spec = VariableSpec("ON_READ", "SUM", "float32", 0.0)
    _, after, held = result(Look(), variables=(spec,), after=(Assign(0, "assign", 6.0), Fetch(0)))
    assert [float(one) for one in held[0]] == [3, 3]
    assert float(after[1]) == 6


@pytest.mark.parametrize(
    ("program", "error"),
    [
        (Program(2, (Stop("raise", 1),)), "KeyError"),
        (Program(2, (Stop("leave", 0),)), "ReplicasDisagree"),
        (Program(2, (Write(0, "assign", given(1.0, 2.0)),), variables=(UNAGGREGATED,)), "InvalidArgument"),
        (Program(2, (Look(),), (Assign(0, "assign_add", 1.0),), (TOTAL,)), "InvalidArgument"),
    ],
)
def test_what_ends_with_an_error_says_which(program, error):
    assert run(program).error == error


@pytest.mark.parametrize(
    ("expected", "found"),
    [
        (f(1), f(2)),
        (f(1), np.array([1.0])),
        (f(1), f(1, 1)),
        (f(0.0), f(-0.0)),
        ([f(1)], (f(1),)),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        (Each((1, 2)), Each((1, 3))),
        (Each((1, 2)), 1),
        (1, True),
        ((1, 2), (1,)),
        (None, 0),
    ],
)
def test_differences_are_seen(expected, found):
    assert difference(expected, found) is not None
    assert difference(expected, expected) is None


def test_nans_are_equal_whatever_their_sign_and_payload():
    assert difference(f(np.nan, 1), f(-np.nan, 1)) is None
    assert difference(oracle.UNSPECIFIED, 5) is None


def test_nans_are_equal_whatever_their_bits_also_signalling_ones():
    bits = np.arange(2**16, dtype=np.uint16)
    quiet = np.where((bits & 0x7F80 == 0x7F80) & (bits & 0x7F != 0), bits | 0x40, bits).astype(np.uint16)
    dtype = host_dtype("bfloat16")
    assert same_bits(bits.view(dtype), quiet.view(dtype))
    assert first_difference(bits.view(dtype), np.roll(quiet, 1).view(dtype)) is not None
