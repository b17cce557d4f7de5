"""Distributed values where they are used: captured, passed on, taken apart, made.  Clauses: V-1, V-4, V-5, V-6."""

import collections

import numpy as np
import pytest
from vocabulary import ctx, listed

import simstrategy as ss
from simstrategy import Mirrored, PerReplica
from simstrategy.errors import ContextError, InvalidArgument, InvalidType

Pair = collections.namedtuple("Pair", ["left", "right"])


def on_devices(strategy, *rows):
    """A Mirrored of arrays on the replicas' devices, which a test may well make unequal."""
    return strategy.run(lambda row: ctx().xp.asarray(np.float32(row)), args=(PerReplica(rows),)).values


def test_a_captured_mirrored_value_stands_for_the_replicas_own_component(mirrored, executor):
    strategy = mirrored(2, executor=executor)
    value = Mirrored(on_devices(strategy, [1, 2], [3, 4]))

    def replica():
        return value + 1, 1 - value, value[0], ctx().xp.add(value, 10.0), ctx().all_reduce("SUM", value)

    total, difference, item, added, reduced = strategy.run(replica)
    assert listed(total) == [[2, 3], [4, 5]]
    assert listed(difference) == [[0, -1], [-2, -3]]
    assert listed(item) == [1, 3]
    assert listed(added) == [[11, 12], [13, 14]]
    assert listed(reduced) == [[4, 6], [4, 6]]
    assert [one.placement for one in total.values] == ["sim:0", "sim:1"]
    with strategy.scope():
        assert np.asarray(value + 1).tolist() == [2, 3]


def test_a_mirrored_value_of_fewer_components_than_replicas_says_so(mirrored):
    value = Mirrored([np.ones(1), np.ones(1)])
    with pytest.raises(
        InvalidArgument, match="A Mirrored of 2 components was given to replica 2, which has no component in"
    ):
        mirrored(3).run(lambda: value + 1)


@pytest.mark.parametrize("semantics", [ss.Semantics.TF1_13, ss.Semantics.TF1_15])
def test_a_captured_per_replica_value_is_refused_before_tf2(mirrored, semantics):
    strategy = mirrored(2, semantics=semantics)
    value = PerReplica(on_devices(strategy, 1, 2))
    for use in (lambda: ctx().all_reduce("SUM", value), lambda: ctx().xp.add(value, 1.0)):
        with pytest.raises(InvalidType, match="It looks like you are using a PerReplica object"):
            strategy.run(use)


def test_a_captured_per_replica_value_is_the_replicas_component_in_tf2(mirrored, executor):
    strategy = mirrored(2, semantics=ss.Semantics.TF2, executor=executor)
    value = PerReplica(on_devices(strategy, 1, 2))
    added, reduced = strategy.run(lambda: (ctx().xp.add(value, 10.0), ctx().all_reduce("SUM", value)))
    assert (listed(added), listed(reduced)) == ([11, 12], [3, 3])
    with pytest.raises(InvalidType, match="A PerReplica has no arithmetic"):
        strategy.run(lambda: value + 1)
    with strategy.scope(), pytest.raises(InvalidType, match="It looks like you are using a PerReplica object"):
        np.asarray(value)


def test_a_variable_given_to_a_collective_is_the_replicas_value_of_it(mirrored):
    strategy = mirrored(2)
    with strategy.scope():
        written = ss.Variable(2.0)
        on_read = ss.Variable(
            1.0, synchronization=ss.VariableSynchronization.ON_READ, aggregation=ss.VariableAggregation.SUM
        )

    def replica():
        on_read.assign(ctx().replica_id_in_sync_group + 1.0)
        return ctx().all_reduce("SUM", written), ctx().all_reduce("SUM", on_read)

    assert [listed(one) for one in strategy.run(replica)] == [[4, 4], [3, 3]]


def test_a_variable_is_passed_as_itself_and_comes_back_as_itself(mirrored):
    strategy = mirrored(2)
    with strategy.scope():
        variable = ss.Variable(3.0)
    got = strategy.run(lambda given: (given, given.read_value()), args=(variable,))
    assert got[0] is variable
    assert type(got[1]) is PerReplica


# Local results.


def test_local_results_of_a_value_a_variable_and_anything_else(mirrored):
    strategy = mirrored(2)
    with strategy.scope():
        variable = ss.Variable(3.0)
    for results in (strategy.experimental_local_results, strategy.unwrap):
        assert results(PerReplica([1, 2])) == (1, 2)
        assert results(Mirrored([1, 2])) == (1, 2)
        assert [float(one) for one in results(variable)] == [3, 3]
        assert results(None) == (None,)
        assert results("text") == ("text",)
        assert results(PerReplica([1, 2, 3])) == (1, 2, 3)


@pytest.mark.parametrize("semantics", [ss.Semantics.TF1_13, ss.Semantics.TF1_15])
def test_a_nest_is_one_local_result_before_tf2(mirrored, semantics):
    strategy = mirrored(2, semantics=semantics)
    for nest in ([PerReplica([1, 2]), 3], {"a": PerReplica([1, 2])}, [], ()):
        (same,) = strategy.experimental_local_results(nest)
        assert same is nest


def test_a_nest_is_a_nest_for_each_replica_in_tf2(mirrored):
    strategy = mirrored(2, semantics=ss.Semantics.TF2)
    results = strategy.experimental_local_results
    assert results([PerReplica([1, 2]), 3]) == ([1, 3], [2, 3])
    assert results({"b": PerReplica([1, 2]), "a": (4, [None])}) == (
        {"b": 1, "a": (4, [None])},
        {"b": 2, "a": (4, [None])},
    )
    assert results(Pair(PerReplica([1, 2]), [5])) == (Pair(1, [5]), Pair(2, [5]))
    assert (results([]), results({}), results(())) == (([], []), ({}, {}), ((), ()))
    ordered = collections.OrderedDict([("z", PerReplica([1, 2])), ("a", 1)])
    assert [type(one) for one in results(ordered)] == [collections.OrderedDict] * 2
    assert results({1, 2}) == ({1, 2},)
    with strategy.scope():
        variable = ss.Variable(3.0)
    assert [[float(one) for one in nest] for nest in results([variable])] == [[3.0], [3.0]]
    with pytest.raises(InvalidArgument, match="A PerReplica of 1 component was given to replica 1"):
        results([PerReplica([1])])


@pytest.mark.parametrize("value", [PerReplica([1]), [PerReplica([1]), 3], [], None, {"a": 1}], ids=repr)
def test_one_device_and_the_default_strategy_take_nothing_apart(value):
    for strategy in (ss.Strategy.one_device("sim", semantics=ss.Semantics.TF2), ss.get_strategy()):
        (same,) = strategy.experimental_local_results(value)
        assert same is value


def test_a_variable_with_one_component_is_its_own_local_result():
    for strategy in (ss.Strategy.one_device("sim"), ss.Strategy.central_storage("sim", replicas=2)):
        with strategy.scope():
            variable = ss.Variable(1.0)
        assert strategy.experimental_local_results(variable) == (variable,)


# Values from a function.


def from_function(strategy, function):
    return strategy.experimental_distribute_values_from_function(function)


def test_values_from_a_function_are_wrapped_even_if_they_are_the_same(mirrored):
    strategy = mirrored(2)
    value = from_function(strategy, lambda context: context.replica_id_in_sync_group)
    assert (type(value), value.values) == (PerReplica, (0, 1))
    nest = from_function(strategy, lambda context: {"a": [context.num_replicas_in_sync, None]})
    assert (nest["a"][0].values, nest["a"][1].values) == ((2, 2), (None, None))
    assert from_function(mirrored(1), lambda context: 5).values == (5,)
    assert listed(strategy.run(lambda x: ctx().xp.asarray(x * 2.0), args=(value,))) == [0, 2]


def test_values_from_a_function_are_raw_where_values_are_never_distributed():
    for strategy in (ss.Strategy.one_device("sim"), ss.get_strategy()):
        assert from_function(strategy, lambda context: [context.replica_id_in_sync_group]) == [0]
    central = ss.Strategy.central_storage("sim", replicas=2)
    assert from_function(central, lambda context: context.replica_id_in_sync_group).values == (0, 1)


def test_values_from_a_function_on_a_cluster_are_counted_over_all_workers():
    def main(strategy):
        return from_function(strategy, lambda context: (context.replica_id_in_sync_group, context.num_replicas_in_sync))

    for number, (ids, counts) in enumerate(ss.sim.Cluster(2, 2).run(main)):
        assert ids.values == (2 * number, 2 * number + 1)
        assert counts.values == (4, 4)


def test_a_function_of_values_is_called_in_the_callers_context_and_its_exceptions_come_out(mirrored):
    strategy = mirrored(2)
    seen = []
    from_function(strategy, lambda context: seen.append((ss.has_strategy(), ss.in_cross_replica_context())))
    with strategy.scope():
        from_function(strategy, lambda context: seen.append((ss.has_strategy(), ctx())))
    assert seen == [(False, False)] * 2 + [(True, None)] * 2
    with pytest.raises(ZeroDivisionError):
        from_function(strategy, lambda context: 1 // context.replica_id_in_sync_group)
    with pytest.raises(InvalidArgument, match=r"different structure at result: .* length 0, .* length 1"):
        from_function(strategy, lambda context: [1] * context.replica_id_in_sync_group)


def test_values_from_a_function_are_refused_in_replicas_and_without_a_function(mirrored):
    strategy = mirrored(2)
    with pytest.raises(ContextError, match="experimental_distribute_values_from_function was called inside replica 0"):
        strategy.run(lambda: from_function(strategy, lambda context: 1))
    with pytest.raises(InvalidType, match="takes a function of a ValueContext, got 5"):
        from_function(strategy, 5)


def test_a_value_context_is_a_plain_value_that_prints():
    context = ss.ValueContext(1, 3)
    assert (context.replica_id_in_sync_group, context.num_replicas_in_sync) == (1, 3)
    assert str(context) == "ValueContext(replica id 1, total replicas in sync: 3)"
    assert ss.ValueContext() == ss.ValueContext(0, 1)
