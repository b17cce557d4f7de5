"""`Strategy.reduce`: axes, dtypes, partial and empty parts, and what cannot be reduced.

Clauses: M-7, R-1, R-2, R-3, R-4, R-8, R-10.
"""

import warnings

import numpy as np
import pytest
from vocabulary import variable_in

import simstrategy as ss
from simstrategy import PerReplica
from simstrategy.errors import InvalidArgument, InvalidType


def parts(*values, dtype=np.float32):
    return PerReplica([np.asarray(value, dtype) for value in values])


def test_the_mean_of_nothing_is_nan_without_an_exception(mirrored, same):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        same(mirrored(2).reduce("MEAN", parts([], []), axis=0), np.float32(np.nan))
        same(mirrored(2).reduce("MEAN", parts([], [], dtype=np.int32), axis=0), np.float64(np.nan))
        same(mirrored(1).reduce("MEAN", np.zeros(0, np.float32), axis=0), np.float32(np.nan))


def test_values_are_added_in_rank_order_whatever_the_schedule(mirrored, same):
    for schedule in (None, ss.schedules.Seeded(1), ss.schedules.Seeded(2)):
        strategy = mirrored(4, schedule=schedule)
        value = strategy.run(lambda: np.float32([1e8, 1, -1e8, 1])[ss.get_replica_context().replica_id_in_sync_group])
        same(strategy.reduce("SUM", value), np.float32(1))


def test_one_replica_without_an_axis_gives_the_value_itself_even_bool_or_integer(mirrored, same):
    strategy = mirrored(1)
    value = strategy.run(lambda: ss.get_replica_context().xp.asarray([3], dtype="int32"))
    assert strategy.reduce("MEAN", value) is value
    assert strategy.reduce("SUM", True) is True
    same(strategy.reduce("MEAN", np.int32([3, 4]), axis=0), np.float64(3.5))


def test_a_plain_value_is_its_own_mean_and_has_no_sum(mirrored):
    strategy = mirrored(2)
    for value in (5, np.float32(5), np.ones(2), None, "text"):
        assert strategy.reduce("MEAN", value) is value
        with pytest.raises(
            InvalidArgument, match=r"A non-DistributedValues value .* ReduceOp.SUM \(test_reduce.py:\d+\)"
        ):
            strategy.reduce("SUM", value)


def test_nests_are_reduced_leaf_by_leaf(mirrored, same):
    nest = mirrored(2).reduce("SUM", {"b": parts([1], [2]), "a": (parts([3, 4], [5, 6]), [])}, axis=0)
    assert list(nest) == ["b", "a"]
    same(nest["b"], np.float32(3))
    same(nest["a"][0], np.float32(18))
    assert nest["a"][1] == []


@pytest.mark.parametrize(("one", "other"), [([1], [1, 2]), (1, [1]), ([[1]], [1])])
def test_shapes_that_differ_are_refused_even_if_they_broadcast(mirrored, one, other):
    with pytest.raises(InvalidArgument) as raised:
        mirrored(2).reduce("SUM", parts(one, other))
    lines = str(raised.value).splitlines()
    assert lines[0].startswith("reduce at test_reduce.py:")
    assert lines[1] == f"  replica 0: float32{list(np.shape(one))}"
    assert lines[2] == f"  replica 1: float32{list(np.shape(other))}"
    assert "axis=0" in lines[3]


def test_shapes_that_differ_besides_the_axis_are_refused(mirrored):
    with pytest.raises(
        InvalidArgument, match=r"replica 0: float32\[2\]\n  replica 1: float32\[3\]\nBring them to one form first"
    ):
        mirrored(2).reduce("SUM", parts(np.ones((4, 2)), np.ones((1, 3))), axis=0)


@pytest.mark.parametrize(
    ("axis", "text"),
    [
        (1, "Invalid reduction dimension 1 for input with 1 dimensions"),
        (-2, "Invalid reduction dimension -2 for input with 1 dimensions"),
        ((0, 1), "Invalid reduction dimension 1 for input with 1 dimensions"),
        ((0, 0), "each may be named once"),
        ((0, -1), "each may be named once"),
        ([0], r"an int, a tuple of ints or None as axis, got \[0\]"),
        (0.0, "an int, a tuple of ints or None as axis"),
        (True, "an int, a tuple of ints or None as axis"),
        ("0", "an int, a tuple of ints or None as axis"),
        ((0, None), "an int, a tuple of ints or None as axis"),
    ],
)
@pytest.mark.parametrize("count", [1, 2])
def test_an_axis_is_one_of_the_value_and_named_once(mirrored, count, axis, text):
    value = parts([1, 2], [3, 4]) if count == 2 else np.float32([1, 2])
    with pytest.raises(InvalidArgument, match=text):
        mirrored(count).reduce("SUM", value, axis=axis)


def test_a_numpy_integer_is_an_axis(mirrored, same):
    trace = ss.trace.Trace()
    strategy = mirrored(2, trace=trace)
    same(strategy.reduce("SUM", parts([1], [2]), axis=np.int64(0)), np.float32(3))
    same(strategy.reduce("SUM", parts([1], [2]), axis=(np.int64(0),)), np.float32(3))
    strategy.run(lambda: ss.get_replica_context().all_gather(np.ones(2), np.int64(0)))
    assert [event.axis for event in trace.events() if event.kind in ("reduce", "all_gather")] == [0, None, 0, 0]
    assert all(event.line() for event in trace.events())


def test_the_result_is_on_the_first_device_and_is_nobodys_part(mirrored):
    strategy = mirrored(2)
    value = strategy.run(lambda: ss.get_replica_context().xp.ones(2))
    total = strategy.reduce("SUM", value)
    assert total.placement == "sim:0"
    assert not any(np.shares_memory(total, one) for one in value.values)


def test_the_mean_of_complex_numbers_divides_each_part_and_multiplies_by_no_inverse(mirrored, same):
    value = PerReplica([np.complex64([0.5 - 2.5j]), np.complex64([0]), np.complex64([-1])])
    same(mirrored(3).reduce("MEAN", value), np.complex64([complex(np.float32(-0.5) / 3, np.float32(-2.5) / 3)]))


def test_mirrored_values_and_variables_have_a_mean_and_no_sum_without_an_axis(mirrored, same):
    strategy = mirrored(2)
    v = variable_in(strategy, np.float32([1, 2]), name="v")
    equal = ss.Mirrored(v.components)
    for value, name in ((equal, "a Mirrored value"), (v, "variable 'v'")):
        same(strategy.reduce("MEAN", value), np.float32([1, 2]))
        same(strategy.reduce("SUM", value, axis=0), np.float32(6))
        same(strategy.reduce("MEAN", value, axis=0), np.float32(1.5))
        with pytest.raises(InvalidArgument) as raised:
            strategy.reduce("SUM", value)
        line = raised.traceback[0].lineno + 1
        assert str(raised.value) == (
            f"reduce at test_reduce.py:{line} got {name} with ReduceOp.SUM: its components are one value, and whether "
            f"it counts once or once per replica is not known. Use ReduceOp.MEAN, or multiply by num_replicas_in_sync."
        )
    with pytest.raises(InvalidArgument, match="a Mirrored value with ReduceOp"):
        mirrored(1).reduce("SUM", ss.Mirrored([np.float32(1)]))


@pytest.mark.parametrize("aggregation", ss.VariableAggregation)
def test_an_on_read_variable_is_reduced_over_its_components_whatever_its_aggregation(mirrored, same, aggregation):
    strategy = mirrored(2)
    v = variable_in(strategy, 0.0, synchronization=ss.VariableSynchronization.ON_READ, aggregation=aggregation)
    strategy.run(lambda: v.assign(ss.get_replica_context().replica_id_in_sync_group + 1.0))
    same(strategy.reduce("SUM", v), np.float32(3))
    same(strategy.reduce("MEAN", v), np.float32(1.5))


def test_a_variable_that_is_one_for_all_is_a_plain_value(mirrored, same):
    central = ss.Strategy.central_storage("sim", replicas=2)
    shared = variable_in(central, np.float32([1, 2]))
    plain = ss.Variable(np.float32([1, 2]))
    for strategy, v in ((central, shared), (mirrored(2), plain)):
        assert strategy.reduce("MEAN", v) is v
        same(strategy.reduce("SUM", v, axis=0), np.float32(6))
        with pytest.raises(InvalidArgument, match="A non-DistributedValues value <Variable"):
            strategy.reduce("SUM", v)
    one = ss.Strategy.one_device("sim")
    own = variable_in(one, np.float32([1, 2]))
    for op in ("SUM", "MEAN"):
        assert one.reduce(op, own) is own
    same(one.reduce("SUM", own, axis=0), np.float32(3))


@pytest.mark.parametrize("zero", [0, 0.0, np.float32(0), np.zeros(2), np.zeros((0, 3))])
def test_the_sum_of_nothing_but_zeros_is_itself_however_often_it_counts(mirrored, zero):
    assert mirrored(2).reduce("SUM", zero) is zero


@pytest.mark.parametrize("value", [False, np.bool_(False), None, "", [0, True], np.zeros(2, bool)])
def test_what_is_no_number_has_no_sum_even_if_it_is_false(mirrored, value):
    with pytest.raises(InvalidArgument, match="A non-DistributedValues value"):
        mirrored(2).reduce("SUM", value)


def test_an_array_of_zeros_on_a_device_is_a_value_of_that_replica(mirrored):
    strategy = mirrored(2)
    with pytest.raises(InvalidArgument, match="A non-DistributedValues value"):
        strategy.reduce("SUM", strategy.xp.zeros(2))


@pytest.mark.parametrize(
    ("nest", "op", "wanted"),
    [
        ([1, 2], "SUM", np.int32(3)),
        ((1, 2), "MEAN", np.float64(1.5)),
        ([[1.0, 2.0], [3.0, 4.0]], "SUM", np.float32([4, 6])),
    ],
)
def test_a_list_of_python_numbers_is_an_array_where_an_axis_is_given(mirrored, same, nest, op, wanted):
    for strategy in (ss.get_strategy(), ss.Strategy.one_device("sim"), mirrored(1)):
        same(strategy.reduce(op, nest, axis=0), wanted)
    twice = 2 if op == "SUM" else 1
    same(mirrored(2).reduce(op, nest, axis=0), wanted * np.asarray(twice, wanted.dtype))


def test_means_of_python_numbers_are_taken_in_the_default_dtypes(mirrored, same):
    strategy = mirrored(2)
    same(strategy.reduce("MEAN", PerReplica([1, 2])), np.float64(1.5))
    same(strategy.reduce("MEAN", PerReplica([1.0, 2.0])), np.float32(1.5))
    same(strategy.reduce("SUM", PerReplica([[1, 2], [3, 4]])), np.int32([4, 6]))


def test_tf1_13_takes_members_of_reduce_op_alone_and_no_axis(mirrored, same):
    strategy = mirrored(2, semantics=ss.Semantics.TF1_13)
    with strategy.scope():
        same(strategy.reduce(ss.ReduceOp.SUM, parts(1, 2)), np.float32(3))
        with pytest.raises(InvalidArgument) as op:
            strategy.reduce("SUM", parts(1, 2))
        with pytest.raises(InvalidType) as axis:
            strategy.reduce(ss.ReduceOp.SUM, parts([1], [2]), axis=0)
    assert str(op.value) == "`reduce_op` must be ReduceOp.SUM or ReduceOp.MEAN in TF1_13, and not 'SUM'."
    assert str(axis.value) == (
        "reduce takes no axis in TF1_13, and got axis=0. Sum over it in the replica function, or use Semantics.TF1_15 "
        "or TF2."
    )


def test_what_is_wrong_is_told_in_one_order(mirrored):
    strategy, bools = mirrored(2), PerReplica([np.array([True]), np.array([False])])
    with pytest.raises(InvalidArgument, match="'MAX' is not a valid ReduceOp"):
        strategy.reduce("max", bools, axis="0")
    with pytest.raises(InvalidArgument, match="takes an int, a tuple of ints or None as axis"):
        strategy.reduce("SUM", bools, axis="0")
    with pytest.raises(InvalidArgument, match="reduce got bool"):
        strategy.reduce("SUM", bools, axis=3)
    with pytest.raises(InvalidArgument, match=r"dimension 2 for input with 1 dimensions: reduce got shape \[1\]"):
        strategy.reduce("SUM", parts([1], [[1]]), axis=(2, 1))


def test_an_experimental_run_takes_one_step_of_an_iterator(mirrored):
    class Iterator:
        """Anything with get_next."""

        taken = 0

        def get_next(self):
            self.taken += 1
            return {"x": PerReplica([self.taken, 10 * self.taken])}

    strategy, iterator = mirrored(2), Iterator()
    assert strategy.experimental_run(lambda step: step["x"], iterator).values == (1, 10)
    assert strategy.experimental_run(lambda step: step["x"], iterator).values == (2, 20)
    assert strategy.experimental_run(lambda: 7) == 7
    with pytest.raises(ss.errors.ContextError, match="experimental_run was called inside replica 0"):
        strategy.run(lambda: strategy.experimental_run(lambda step: None, iterator))
    assert iterator.taken == 2
