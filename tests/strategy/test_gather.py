"""`Strategy.gather`: which parts go together, and what is said where they do not.  Clauses: R-9."""

import numpy as np
import pytest

import simstrategy as ss
from simstrategy import Mirrored, PerReplica
from simstrategy.errors import ContextError, InvalidArgument, ReplicasDisagree
from simstrategy.strategy import group_of


def parts(*rows, dtype=np.float32):
    return PerReplica([np.asarray(row, dtype) for row in rows])


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8", "int32", "int64", "complex64", "bool"])
@pytest.mark.parametrize("axis", [0, -1, np.int64(0)])
def test_parts_are_put_together_in_rank_order_whatever_their_dtype(mirrored, same, dtype, axis):
    whole = mirrored(3).gather(parts([1, 0], [], [1], dtype=dtype), axis)
    same(whole, np.asarray([1, 0, 1], dtype))
    assert whole.placement == "sim:0"


def test_where_all_parts_are_empty_the_whole_is_empty(mirrored, same):
    same(mirrored(2).gather(parts(np.ones((0, 3)), np.ones((0, 3))), 0), np.ones((0, 3), np.float32))
    same(mirrored(2).gather(parts(np.ones((3, 0)), np.ones((1, 0))), 0), np.ones((4, 0), np.float32))


def test_a_value_that_is_not_distributed_comes_back_as_it_is(mirrored):
    strategy = mirrored(2)
    for value in (np.float32([1, 2]), 5, None, "text", True):
        assert strategy.gather(value, 0) is value


@pytest.mark.parametrize("make", [ss.Strategy.one_device, ss.Strategy.mirrored, lambda _: ss.get_strategy()])
def test_one_replica_has_the_whole(make):
    strategy, value = make("sim"), np.float32([1, 2])
    assert strategy.gather(value, 0) is value
    assert strategy.gather([value, 3.0], 7)[1] == 3.0


def test_one_wrapped_replica_is_gathered_as_several_are(mirrored, same):
    same(mirrored(1).gather(parts([1, 2]), -1), np.float32([1, 2]))
    with pytest.raises(InvalidArgument, match="gather got a scalar"):
        mirrored(1).gather(parts(1), 0)


def test_nests_are_gathered_leaf_by_leaf(mirrored, same):
    nest = mirrored(2).gather({"b": [parts([1], [2])], "a": (parts([3], [4, 5]), None)}, 0)
    assert list(nest) == ["b", "a"]
    same(nest["b"][0], np.float32([1, 2]))
    same(nest["a"][0], np.float32([3, 4, 5]))
    assert nest["a"][1] is None


def test_mirrored_values_and_variables_give_all_their_components(mirrored, same):
    strategy = mirrored(2)
    same(strategy.gather(Mirrored([np.float32([1]), np.float32([1])]), 0), np.float32([1, 1]))
    with strategy.scope():
        variable = ss.Variable(np.float32([3, 4]))
    same(strategy.gather(variable, 0), np.float32([3, 4, 3, 4]))


def test_python_numbers_in_lists_are_arrays_of_the_default_dtype(mirrored, same):
    same(mirrored(2).gather(PerReplica([[1, 2], [3]]), 0), np.int32([1, 2, 3]))


def site(line):
    return f"test_gather.py:{line}"


@pytest.mark.parametrize(
    ("value", "axis", "lines"),
    [
        (parts([[1, 2]], [[1]]), 0, ["float32[1, 2]", "float32[1, 1]"]),
        (parts([1], [[1]]), 0, ["float32[1]", "float32[1, 1]"]),
        (parts(1, [1]), 0, ["float32[]", "float32[1]"]),
        (PerReplica([np.float32([1]), np.int32([1])]), 0, ["float32[1]", "int32[1]"]),
    ],
)
def test_parts_that_do_not_fit_are_named_for_every_replica(mirrored, value, axis, lines):
    strategy = mirrored(2)
    with pytest.raises(InvalidArgument) as raised:
        strategy.gather(value, axis)
    line = raised.traceback[0].lineno + 1
    assert str(raised.value).splitlines() == [
        f"gather at {site(line)} got arrays that cannot be put together along axis 0:",
        f"  replica 0: {lines[0]}",
        f"  replica 1: {lines[1]}",
        "They may differ in size along that axis alone. Reshape or cast the others.",
    ]


NOT_THERE = "Invalid reduction dimension {} for input with {} dimensions: gather got "


@pytest.mark.parametrize(
    ("value", "axis", "text"),
    [
        (parts([1], [2]), 1, NOT_THERE.format(1, 1) + "shape [1]. Use an axis from -1 to 0."),
        (parts(1, 2), 0, NOT_THERE.format(0, 0) + "a scalar, which has no axis. Give it a dimension."),
        (parts([1], [2]), "0", "gather takes an int as axis, got '0'. Pass one int."),
        (parts([1], [2]), (0,), "gather takes an int as axis, got (0,). Pass one int."),
        (parts([1], [2]), None, "gather takes an int as axis, got None. Pass one int."),
        (parts([1], [2]), True, "gather takes an int as axis, got True. Pass one int."),
        (parts([1], [2]), 0.0, "gather takes an int as axis, got 0.0. Pass one int."),
    ],
)
def test_an_axis_is_an_int_that_the_parts_have(mirrored, value, axis, text):
    with pytest.raises(InvalidArgument) as raised:
        mirrored(2).gather(value, axis)
    assert str(raised.value) == text


def test_gather_is_refused_in_a_replica_which_has_all_gather(mirrored):
    strategy = mirrored(2)
    with pytest.raises(ContextError, match="gather requires a cross-replica context, and was called inside replica 0"):
        strategy.run(lambda: strategy.gather(1, 0))
    with mirrored(2).scope(), pytest.raises(ContextError, match="Mixing different strategies: gather of"):
        strategy.gather(1, 0)


@pytest.mark.parametrize("replicas", [1, 2])
def test_gather_spans_all_workers_whose_sizes_may_differ(same, replicas):
    def main(strategy):
        value = strategy.run(lambda: np.full(own() + 1, own(), np.float32))
        return strategy.gather({"x": value}, -1)["x"]

    def own():
        return ss.get_replica_context().replica_id_in_sync_group

    wanted = np.concatenate([np.full(rank + 1, rank, np.float32) for rank in range(2 * replicas)])
    for whole in ss.sim.Cluster(2, replicas).run(main):
        same(whole, wanted)


def test_workers_that_gather_different_forms_hear_of_each_other():
    def main(strategy):
        width = group_of(strategy).coordinator.worker + 1
        return strategy.gather(strategy.run(lambda: np.ones((2, width), np.float32)), 0)

    with pytest.raises(ReplicasDisagree) as raised:
        ss.sim.Cluster(2, 1).run(main)
    line = main.__code__.co_firstlineno + 2
    assert str(raised.value).splitlines()[1:] == [
        f"  worker 0: gather axis=0 float32[?,1] at {site(line)}",
        f"  worker 1: gather axis=0 float32[?,2] at {site(line)}",
    ]


def test_a_gather_is_an_event_of_the_trace(mirrored):
    trace = ss.trace.Trace()
    mirrored(2, trace=trace).gather(parts([[1]], [[2], [3]]), -2)
    (event,) = trace.events()
    assert (event.kind, event.axis, event.shapes, event.dtypes) == ("gather", 0, ((None, 1),), ("float32",))
