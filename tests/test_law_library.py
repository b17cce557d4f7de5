"""The clauses of docs/semantics.md on values, gathers and library calls, like those of `test_law.py`."""

from types import SimpleNamespace

import numpy as np
import pytest
from vocabulary import TF1_13, TF1_15, TF2, components, ctx, rank

import simstrategy as ss

SUM, MEAN = ss.ReduceOp.SUM, ss.ReduceOp.MEAN
Aggregation, Synchronization = ss.VariableAggregation, ss.VariableSynchronization


def mirrored(replicas=2, **options):
    return ss.Strategy.mirrored("sim", replicas=replicas, **options)


def ranks(strategy):
    return strategy.run(lambda: ctx().xp.asarray(float(rank())))


def host(value):
    return [np.asarray(one).tolist() for one in value.values]


def variable(strategy, initial=1.0, **settings):
    with strategy.scope():
        return ss.Variable(np.float32(initial), name="v", **settings)


# Clauses: V-4
def test_a_mirrored_value_computes_like_its_component_and_a_per_replica_one_never_does():
    strategy = mirrored()
    parts = ranks(strategy).values
    equal = ss.Mirrored(parts)
    assert float(equal + 1) == 1.0
    assert host(strategy.run(lambda: equal + 1)) == [1.0, 2.0]
    with pytest.raises(ss.errors.InvalidType, match="has no arithmetic"):
        ss.PerReplica(parts) + 1
    for semantics, allowed in ((TF1_13, False), (TF1_15, False), (TF2, True)):
        other, value = mirrored(semantics=semantics), ss.PerReplica(parts)
        if allowed:
            assert host(other.run(lambda value=value: ctx().all_reduce(SUM, value))) == [1.0, 1.0]
        else:
            with pytest.raises(ss.errors.InvalidType, match="using a PerReplica object"):
                other.run(lambda value=value: ctx().all_reduce(SUM, value))


# Clauses: V-5
def test_local_results_are_components_and_a_nest_of_them_depends_on_the_profile():
    nest = [ss.PerReplica([1, 2]), 3]
    for semantics, wanted in ((TF1_13, (nest,)), (TF1_15, (nest,)), (TF2, ([1, 3], [2, 3]))):
        strategy = mirrored(semantics=semantics)
        assert strategy.experimental_local_results(nest) == wanted
        assert strategy.unwrap(nest[0]) == (1, 2)
        assert strategy.unwrap(5) == (5,)


# Clauses: V-6
def test_values_from_a_function_are_always_wrapped_but_on_one_device():
    made = mirrored(1).experimental_distribute_values_from_function(lambda context: context.num_replicas_in_sync)
    assert made.values == (1,)
    one = ss.Strategy.one_device("sim")
    assert one.experimental_distribute_values_from_function(lambda context: context.replica_id_in_sync_group) == 0


# Clauses: M-7
def test_experimental_run_takes_one_step_of_an_iterator():
    strategy = mirrored()
    iterator = iter(strategy.experimental_distribute_dataset([np.float32([1, 2]), np.float32([3, 4])]))
    assert host(strategy.experimental_run(lambda batch: batch, iterator)) == [[1.0], [2.0]]
    assert host(strategy.experimental_run(lambda batch: batch, iterator)) == [[3.0], [4.0]]


# Clauses: R-8
def test_what_is_mirrored_is_its_own_mean_and_has_no_sum():
    strategy = mirrored()
    written = variable(strategy, 3.0)
    for value in (written, ss.Mirrored(written.components)):
        assert float(strategy.reduce(MEAN, value)) == 3.0
        with pytest.raises(ss.errors.InvalidArgument, match="counts once or once per replica"):
            strategy.reduce(SUM, value)
    own = variable(strategy, 3.0, synchronization=Synchronization.ON_READ)
    assert float(strategy.reduce(SUM, own)) == 6.0


# Clauses: R-9
def test_gather_concatenates_components_of_all_workers():
    def main(strategy):
        value = strategy.run(lambda: np.full(rank() + 1, rank(), np.float32))
        return strategy.gather(value, 0).tolist()

    assert ss.sim.Cluster(2, 1).run(main) == ([0.0, 1.0, 1.0],) * 2
    strategy = mirrored()
    assert strategy.gather(5, 0) == 5
    with pytest.raises(ss.errors.ContextError, match=r"use get_replica_context\(\).all_gather\(\) instead"):
        strategy.run(lambda: strategy.gather(1, 0))


# Clauses: R-10
def test_tf1_13_reduces_in_a_scope_by_members_of_reduce_op_without_an_axis():
    strategy = mirrored(semantics=TF1_13)
    value = ranks(strategy)
    with pytest.raises(ss.errors.ContextError, match=r'Need to be inside "with strategy.scope\(\)"'):
        strategy.reduce(SUM, value)
    with strategy.scope():
        assert float(strategy.reduce(SUM, value)) == 1.0
        with pytest.raises(ss.errors.InvalidArgument, match="must be ReduceOp"):
            strategy.reduce("SUM", value)
        with pytest.raises(ss.errors.InvalidType, match="takes no axis"):
            strategy.reduce(SUM, value, axis=0)


# Clauses: X-1
def test_results_are_put_where_they_are_wanted():
    strategy = mirrored()
    value, v = ranks(strategy), variable(strategy)
    total = strategy.extended.reduce_to(SUM, value, v)
    assert (type(total), host(total)) == (ss.Mirrored, [1.0, 1.0])
    (there,) = strategy.extended.batch_reduce_to(SUM, [(value, "sim:1")])
    assert (float(there), there.placement) == (1.0, "sim:1")
    with pytest.raises(ss.errors.InvalidArgument, match="destinations can not be empty"):
        strategy.extended.reduce_to(SUM, value, "")


# Clauses: X-2
def test_one_value_is_copied_to_every_device():
    strategy = mirrored()
    assert host(strategy.extended.broadcast_to(np.float32([1, 2]), variable(strategy))) == [[1.0, 2.0]] * 2
    assert strategy.extended.broadcast_to(3, variable(strategy)) == 3


# Clauses: X-3
def test_an_update_calls_its_function_for_each_component_where_it_is():
    strategy = mirrored()
    v, seen = variable(strategy), []

    def function(part):
        seen.append((part.device, ss.in_cross_replica_context(), ctx()))
        v.assign_add(part.value())

    strategy.extended.update(v, function)
    assert seen == [("sim:0", True, None), ("sim:1", True, None)]
    assert components(v) == [2.0, 2.0]


# Clauses: X-4
def test_an_update_gets_components_of_its_arguments():
    for semantics in (TF1_15, TF2):
        strategy = mirrored(semantics=semantics)
        v = variable(strategy, synchronization=Synchronization.ON_READ)
        strategy.extended.update(v, lambda part, x: part.assign(x), args=(ss.Mirrored([1.0, 2.0]),))
        assert components(v) == [1.0, 2.0]
        given = (ss.PerReplica([3.0, 4.0]),)
        if semantics is TF2:
            strategy.extended.update(v, lambda part, x: part.assign(x), args=given)
            assert components(v) == [3.0, 4.0]
        else:
            with pytest.raises(ss.errors.InvalidType, match="Expected value to be mirrored across replicas"):
                strategy.extended.update(v, lambda part, x: part.assign(x), args=given)


# Clauses: X-5
def test_an_updates_results_are_mirrored_or_tuples():
    strategy = mirrored()
    v = variable(strategy)
    assert type(strategy.extended.update(v, lambda part: part.value())) is ss.Mirrored
    assert strategy.extended.update(v, lambda part: 7) == 7
    assert strategy.extended.update(v, lambda part: 7, group=False) == (7,)
    assert len(strategy.extended.update(v, lambda part: part.value(), group=False)) == 2
    central = ss.Strategy.central_storage("sim", replicas=2)
    shared = variable(central)
    assert central.extended.update(shared, lambda given: given) is shared


# Clauses: X-6
def test_replicas_update_together_in_tf2_and_never_before():
    for semantics in (TF1_13, TF1_15, TF2):
        strategy = mirrored(semantics=semantics)
        v = variable(strategy, synchronization=Synchronization.ON_READ)

        def replica(strategy=strategy, v=v):
            return strategy.extended.update(v, lambda part, x: part.assign(x).value(), args=(rank() + 5.0,))

        if semantics is TF2:
            assert host(strategy.run(replica)) == [5.0, 6.0]
        else:
            with pytest.raises(ss.errors.ContextError, match="update was called inside replica 0"):
                strategy.run(replica)


# Clauses: X-7
def test_state_of_no_variable_is_updated_once_on_each_device():
    strategy = mirrored()
    devices = strategy.extended.non_slot_devices([variable(strategy)])
    made = strategy.extended.update_non_slot(devices, lambda: strategy.xp.asarray(1.0))
    assert [one.placement for one in made.values] == ["sim:0", "sim:1"]


# Clauses: X-8
def test_devices_are_told_and_the_default_strategy_has_none():
    central = ss.Strategy.central_storage("sim", replicas=2).extended
    assert (central.worker_devices, central.parameter_devices) == (("sim:0", "sim:1"), ("sim:0",))
    with pytest.raises(ss.errors.ContextError, match="parameter_devices is unsupported"):
        _ = ss.get_strategy().extended.parameter_devices


# Clauses: X-9
def test_colocating_takes_a_variable_of_the_scope():
    strategy = mirrored()
    v = variable(strategy)
    with strategy.scope(), strategy.extended.colocate_vars_with(v):
        assert len(ss.Variable(1.0).components) == 2
    with strategy.scope(), pytest.raises(ss.errors.InvalidArgument, match="must only be passed a variable created in"):
        strategy.extended.colocate_vars_with(1)


# Clauses: X-10
def test_components_lead_to_their_variable():
    strategy = mirrored()
    v = variable(strategy)
    parts = strategy.extended.update(v, lambda part: part, group=False)
    for part in (v, *parts, *(part.native for part in parts)):
        assert strategy.extended.value_container(part) is v
        assert strategy.extended.variable_created_in_scope(part)
    assert strategy.extended.value_container(5) == 5
    assert not strategy.extended.variable_created_in_scope(variable(mirrored()))


# Clauses: X-11
def test_read_var_aggregates_outside_replicas():
    strategy = mirrored()
    own = variable(strategy, synchronization=Synchronization.ON_READ, aggregation=Aggregation.SUM)
    with strategy.scope():
        assert float(strategy.extended.read_var(own)) == 2.0
    written = variable(strategy)
    assert host(strategy.run(lambda: strategy.extended.read_var(written))) == [1.0, 1.0]
    with pytest.raises(ss.errors.ContextError, match="cross-replica context"):
        strategy.run(lambda: strategy.extended.read_var(own))


# Clauses: X-12
def test_worker_0_alone_writes_checkpoints():
    def asked(strategy):
        extended = strategy.extended
        return extended.experimental_between_graph, extended.should_checkpoint, extended.should_save_summary

    assert ss.sim.Cluster(2, 1).run(asked) == ((True, True, True), (True, False, False))
    assert asked(mirrored()) == (False, True, True)


# Clauses: X-13
def test_a_configuration_is_copied_and_nothing_is_to_be_initialized():
    given = SimpleNamespace(isolate_session_state=False)
    assert mirrored().update_config_proto(given).isolate_session_state
    assert not given.isolate_session_state
    assert mirrored().experimental_initialize() == mirrored().experimental_finalize() == []


# Clauses: X-14
def test_an_average_loss_is_a_share_of_the_whole_batchs():
    shares = mirrored().run(lambda: ss.nn.compute_average_loss(np.float32([1, 2, 3])))
    assert host(shares) == [1.0, 1.0]
    assert float(ss.nn.compute_average_loss(np.float32([]), global_batch_size=0)) == 0.0
    mean = ss.nn.compute_average_loss(np.int32([1, 2]), sample_weight=[0.5, 0.5])
    assert (float(mean), mean.dtype.name) == (0.75, "float64")


# Clauses: X-15
def test_a_regularization_loss_is_divided_by_the_replicas_in_a_replica():
    strategy = mirrored()
    assert host(strategy.run(lambda: ss.nn.scale_regularization_loss(np.float32([1, 2])))) == [1.5, 1.5]
    with strategy.scope(), pytest.raises(ss.errors.ContextError, match="in cross replica context"):
        ss.nn.scale_regularization_loss(1.0)


# Clauses: X-16
def test_a_check_names_the_first_value_that_is_not_finite():
    def program(strategy):
        bad = ss.PerReplica([2.0, np.inf])
        return strategy.run(lambda x: ctx().all_reduce(SUM, ctx().xp.asarray(np.float32([1, x]))), args=(bad,))

    report = ss.check(program, replicas=[2])
    assert report.agrees
    (found,) = report.not_finite()
    assert found == (
        f"sim, replicas 2, InOrder(): step 1, replica 1: float32[2] that entered all_reduce SUM at "
        f"test_law_library.py:{program.__code__.co_firstlineno + 2} is inf at [1], 1 of 2 elements are not finite"
    )
