"""Numbers of Python in collectives, reductions and variables: what they become, and what is refused.

# Clauses: V-7, U-6, R-3
"""

import math

import numpy as np
import pytest

import simstrategy as ss
from simstrategy.device import host_array
from simstrategy.errors import InvalidArgument, InvalidType


def context():
    return ss.get_replica_context()


def one(strategy, result):
    return np.asarray(strategy.experimental_local_results(result)[0])


def test_an_int_that_needs_64_bits_is_added_in_64_bits(mirrored, same):
    strategy = mirrored(2)
    same(one(strategy, strategy.run(lambda: context().all_reduce("SUM", 2**40))), 2**41, np.int64)
    same(one(strategy, strategy.run(lambda: context().all_reduce("SUM", 3))), 6, np.int32)
    same(
        np.asarray(strategy.reduce("SUM", strategy.run(lambda: 2**40 + context().replica_id_in_sync_group), axis=None)),
        2**41 + 1,
        np.int64,
    )
    numbers = strategy.run(lambda: 2**40 + context().replica_id_in_sync_group)
    same(np.asarray(strategy.reduce("SUM", numbers, axis=None)), 2**41 + 1, np.int64)
    same(np.asarray(strategy.reduce("SUM", [2**40, 1], axis=0)), 2**41 + 2, np.int64)
    same(np.asarray(strategy.xp.asarray(3_000_000_000)), 3_000_000_000, np.int64)
    with strategy.scope():
        same(ss.Variable(2**40).numpy(), 2**40, np.int64)
        same(ss.Variable(2**31 - 1).numpy(), 2**31 - 1, np.int32)


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, 10**400, [1, 2**63], [2**63, -1], 1e39, [0.0, -1e39], 1e39j])
def test_a_number_that_no_default_dtype_holds_is_refused_everywhere(value, mirrored):
    strategy = mirrored(2)
    for call in (
        lambda: strategy.xp.asarray(value),
        lambda: strategy.run(lambda: context().all_reduce("SUM", value)),
        lambda: ss.Variable(value),
        lambda: ss.data.Dataset.from_tensors(value),
        lambda: strategy.xp.add(value, 1),
    ):
        with pytest.raises(InvalidArgument, match=r"got .*, and \w+ holds numbers from .* to .*\. Use a wider dtype"):
            call()


CASES = [
    ("int32", [1.7, 2.9], InvalidType),
    ("int32", [math.nan, 0.0], InvalidType),
    ("int32", [2**31, 0], InvalidArgument),
    ("uint8", [-1, 0], InvalidArgument),
    ("uint8", [True, False], InvalidType),
    ("float32", [1j, 2], InvalidType),
    ("bool", [2, 0], InvalidType),
    ("bool", [1.0, 0.0], InvalidType),
    ("float32", ["a", "b"], InvalidType),
    ("float32", [None, 1.0], InvalidType),
    ("float32", [[1.0], [2.0, 3.0]], InvalidArgument),
]


@pytest.mark.parametrize(("dtype", "value", "error"), CASES)
def test_a_variable_takes_no_number_that_would_become_another(dtype, value, error, mirrored):
    strategy = mirrored(2)
    with strategy.scope():
        variable = ss.Variable(np.zeros(2, dtype), aggregation=ss.VariableAggregation.ONLY_FIRST_REPLICA)
    for write in (
        lambda: variable.assign(value),
        lambda: strategy.run(lambda: variable.assign(value)),
        lambda: strategy.extended.update(variable, lambda v: v.assign(value)),
        lambda: ss.Variable(value, dtype=dtype),
        lambda: strategy.xp.asarray(value, dtype=dtype),
    ):
        with pytest.raises(error, match="got"):
            write()
    assert variable.numpy().tolist() == np.zeros(2, dtype).tolist()


@pytest.mark.parametrize(
    ("dtype", "value", "expected"),
    [
        ("float32", 1, 1.0),
        ("float32", True, 1.0),
        ("float64", 0.1, 0.1),
        ("float16", 1e300, math.inf),
        ("int64", 2**40, 2**40),
        ("uint64", 2**64 - 1, 2**64 - 1),
        ("int32", True, 1),
        ("complex64", 2, 2 + 0j),
        ("bool", True, True),
        ("float32", 10**30, 1e30),
    ],
)
def test_a_variable_takes_what_its_dtype_holds(dtype, value, expected, mirrored, same):
    with mirrored(2).scope():
        variable = ss.Variable(np.zeros((), dtype))
        variable.assign(value)
    same(variable.numpy(), expected, dtype)


def test_numbers_of_numpy_in_a_list_and_data_of_other_libraries(same):
    class Wrapped:
        def __array__(self, dtype=None, copy=None):
            return np.array([1.5], np.float64)

    same(host_array([np.uint8(3), np.uint8(4)]), [3, 4], np.int32)
    same(host_array([np.float64(0.1), 2]), [0.1, 2], np.float64)
    same(host_array([np.float16(1.5), 2.25]), [1.5, 2.25], np.float16)
    same(host_array([np.arange(2, dtype=np.uint8)]), [[0, 1]], np.uint8)
    same(host_array(Wrapped()), [1.5], np.float64)
    same(host_array(range(3)), [0, 1, 2], np.int32)
    same(host_array([]), [], np.float32)
    same(host_array([[], []], "int8"), [[], []], np.int8)
    array = np.zeros(3)
    assert host_array(array) is array


def test_the_message_states_number_dtype_and_limits():
    with pytest.raises(InvalidArgument) as raised:
        host_array([1, 300], "uint8", where="assign")
    assert str(raised.value) == (
        "assign got [1, 300], and uint8 holds numbers from 0 to 255. Use a wider dtype, as in np.array(x, 'float64'), "
        "or smaller numbers."
    )
    with pytest.raises(InvalidType) as raised:
        host_array(1.5, "int32")
    assert str(raised.value) == (
        "This call got 1.5, and no float becomes int32 in silence. Convert it first, for example by "
        "xp.astype(x, 'int32')."
    )
    with pytest.raises(InvalidType) as raised:
        host_array([object()])
    assert "0x" not in str(raised.value)
