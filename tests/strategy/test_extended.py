"""`Strategy.extended`: where things are, results where a library wants them, and what a loop asks.

Clauses: X-1, X-2, X-8, X-9, X-10, X-11, X-12.
"""

import numpy as np
import pytest
from vocabulary import ON_READ, SUM, ctx, listed, variable_in

import simstrategy as ss
from simstrategy import Mirrored, PerReplica
from simstrategy.errors import ContextError, InvalidArgument, InvalidType


def per_replica(strategy, *values):
    return strategy.run(lambda value: ctx().xp.asarray(np.float32(value)), args=(PerReplica(values),))


def site(raised):
    return f"test_extended.py:{raised.traceback[0].lineno + 1}"


# Where things are.


def test_devices_are_the_placements_of_this_processs_replicas(mirrored):
    extended = mirrored(2).extended
    assert extended.worker_devices == extended.parameter_devices == ("sim:0", "sim:1")
    assert extended.non_slot_devices(None) == ("sim:0", "sim:1")
    one = ss.Strategy.one_device("sim").extended
    assert one.worker_devices == one.parameter_devices == one.non_slot_devices([]) == ("sim:0",)
    seen = ss.sim.Cluster(2, 2).run(lambda strategy: strategy.extended.worker_devices)
    assert seen == (("sim:0", "sim:1"), ("sim:2", "sim:3"))


def test_central_storage_keeps_variables_and_other_state_on_the_first_device():
    strategy = ss.Strategy.central_storage("sim", replicas=2)
    assert strategy.extended.worker_devices == ("sim:0", "sim:1")
    assert strategy.extended.parameter_devices == ("sim:0",)
    later, first = variable_in(strategy, name="b"), variable_in(strategy, name="a")
    assert strategy.extended.non_slot_devices([later, first]) is first
    for nothing in ([], None, [1]):
        with pytest.raises(InvalidArgument) as raised:
            strategy.extended.non_slot_devices(nothing)
        assert str(raised.value) == (f"non_slot_devices takes a list of variables, at least one, got {nothing!r}.")


@pytest.mark.parametrize("name", ["worker_devices", "parameter_devices"])
def test_the_default_strategy_has_no_devices(name):
    with pytest.raises(ContextError) as raised:
        getattr(ss.get_strategy().extended, name)
    assert str(raised.value) == (
        f"{name} is unsupported by the default strategy, which places nothing. Enter the scope of one that you made, "
        f'for example Strategy.mirrored("sim", replicas=2).'
    )


def test_what_a_loop_of_several_processes_asks():
    def asked(strategy):
        extended = strategy.extended
        return (
            extended.experimental_require_static_shapes,
            extended.experimental_between_graph,
            extended.experimental_should_init,
            extended.should_checkpoint,
            extended.should_save_summary,
        )

    alone = (False, False, True, True, True)
    assert asked(ss.Strategy.mirrored("sim", replicas=2)) == alone
    assert asked(ss.Strategy.one_device("sim")) == alone
    assert asked(ss.get_strategy()) == alone
    assert asked(ss.Strategy.central_storage("sim", replicas=2)) == (False, True, True, True, True)
    assert ss.sim.Cluster(2, 1).run(asked) == ((False, True, True, True, True), (False, True, True, False, False))


# Reducing to a place.


def test_a_variable_or_a_distributed_value_as_destination_gives_every_replica_the_result(mirrored):
    strategy = mirrored(3)
    value = per_replica(strategy, 1, 2, 6)
    for destination in (variable_in(strategy), variable_in(strategy, synchronization=ON_READ), value):
        total = strategy.extended.reduce_to("SUM", value, destination)
        assert (type(total), listed(total)) == (Mirrored, [9, 9, 9])
        assert [one.placement for one in total.values] == ["sim:0", "sim:1", "sim:2"]
        assert listed(strategy.extended.reduce_to(ss.ReduceOp.MEAN, value, destination)) == [3, 3, 3]


def test_a_device_an_array_or_a_component_as_destination_gets_the_result_there(mirrored):
    strategy = mirrored(3)
    value, v = per_replica(strategy, 1, 2, 6), variable_in(strategy)
    component = strategy.extended.update(v, lambda part: part, group=False)[1]
    for destination in ("sim:1", value.values[1], component, v.state.storage.cells[1].native):
        total = strategy.extended.reduce_to("SUM", value, destination)
        assert (float(total), total.placement) == (9, "sim:1")


@pytest.mark.parametrize(
    ("destination", "error", "text"),
    [
        ("", InvalidArgument, "destinations can not be empty: name one of sim:0, sim:1."),
        ("sim:7", InvalidArgument, "on 'sim:7'; choose from sim:0, sim:1."),
        (["sim:0"], InvalidType, "destinations must be a variable or a distributed value of this strategy"),
        (("sim:0", "sim:1"), InvalidType, "or the name of a device, and is ('sim:0', 'sim:1')."),
        (None, InvalidType, "and is None."),
        (3, InvalidType, "and is 3."),
    ],
)
def test_other_destinations_are_refused(mirrored, destination, error, text):
    strategy = mirrored(2)
    with pytest.raises(error) as raised:
        strategy.extended.reduce_to("SUM", per_replica(strategy, 1, 2), destination)
    assert text in str(raised.value)


def test_another_strategys_variable_is_no_destination(mirrored):
    strategy, foreign = mirrored(2), variable_in(mirrored(2))
    with pytest.raises(InvalidArgument) as raised:
        strategy.extended.reduce_to("SUM", per_replica(strategy, 1, 2), foreign)
    assert str(raised.value) == (
        f"The destination {foreign!r} is a variable of another strategy than {strategy!r}. Take a variable made in "
        f"this strategy's scope, or the name of a device."
    )


def test_a_value_that_all_replicas_share_is_its_own_mean_and_has_no_sum(mirrored):
    strategy = mirrored(2)
    v = variable_in(strategy)
    mirrored_value = Mirrored(per_replica(strategy, 3, 3).values)
    for value in (5.0, np.float32([1, 2]), mirrored_value, v):
        assert strategy.extended.reduce_to("MEAN", value, v) is value
    for zero in (0, 0.0, np.zeros(2)):
        assert strategy.extended.reduce_to("SUM", zero, v) is zero
    with pytest.raises(
        InvalidArgument, match=r"A non-DistributedValues value 5\.0 cannot be reduced with ReduceOp\.SUM"
    ):
        strategy.extended.reduce_to("SUM", 5.0, v)
    for value, name in ((mirrored_value, "a Mirrored value"), (v, "variable 'Variable_0'")):
        with pytest.raises(InvalidArgument) as raised:
            strategy.extended.reduce_to("SUM", value, v)
        assert str(raised.value) == (
            f"reduce at {site(raised)} got {name} with ReduceOp.SUM: its components are one value, and whether it "
            f"counts once or once per replica is not known. Use ReduceOp.MEAN, or multiply by num_replicas_in_sync."
        )


def test_an_on_read_variable_is_reduced_over_its_components(mirrored):
    strategy = mirrored(2)
    v = variable_in(strategy, synchronization=ON_READ, aggregation=SUM)
    strategy.run(lambda: v.assign(ctx().replica_id_in_sync_group + 1.0))
    assert listed(strategy.extended.reduce_to("SUM", v, v)) == [3, 3]
    assert listed(strategy.extended.reduce_to("MEAN", v, v)) == [1.5, 1.5]


def test_nests_are_reduced_leaf_by_leaf(mirrored):
    strategy = mirrored(2)
    total = strategy.extended.reduce_to("SUM", {"a": [per_replica(strategy, 1, 2)]}, "sim:0")
    assert float(total["a"][0]) == 3


def test_one_replicas_result_comes_unwrapped(mirrored):
    strategy = mirrored(1)
    v = variable_in(strategy)
    value = np.float32([1])
    assert strategy.extended.reduce_to("SUM", value, v) is value
    total = strategy.extended.reduce_to("SUM", PerReplica([value]), v)
    assert (type(total) is Mirrored, total.placement) == (False, "sim:0")
    one = ss.Strategy.one_device("sim")
    assert one.extended.reduce_to("SUM", value, None) is value
    assert one.extended.batch_reduce_to("SUM", [(value, None)]) == [value]
    assert one.extended.broadcast_to(value, None) is value


def test_central_storage_reduces_to_its_variables_device():
    strategy = ss.Strategy.central_storage("sim", replicas=2)
    total = strategy.extended.reduce_to("SUM", per_replica(strategy, 1, 2), variable_in(strategy))
    assert (float(total), total.placement) == (3, "sim:0")


def test_a_batch_is_a_list_of_results_in_order(mirrored):
    strategy = mirrored(2)
    v, value = variable_in(strategy), per_replica(strategy, 1, 2)
    whole = PerReplica([np.int32(1), np.int32(2)])
    first, second, third = strategy.extended.batch_reduce_to("SUM", [(value, v), [whole, "sim:1"], ([value], v)])
    assert (listed(first), int(second), listed(third[0])) == ([3, 3], 3, [3, 3])
    assert strategy.extended.batch_reduce_to("SUM", []) == []
    for pairs in (5, [value], [(value,)], "ab"):
        with pytest.raises(InvalidArgument, match=r"takes a list of \(value, destination\) pairs, got "):
            strategy.extended.batch_reduce_to("SUM", pairs)


def test_a_cluster_reduces_over_all_workers_to_each_ones_devices():
    def main(strategy):
        v = variable_in(strategy)
        value = strategy.run(lambda: ctx().xp.asarray(ctx().replica_id_in_sync_group + 1.0))
        return strategy.extended.reduce_to("SUM", value, v), strategy.extended.reduce_to("MEAN", value, v)

    for total, mean in ss.sim.Cluster(2, 2).run(main):
        assert (listed(total), listed(mean)) == ([10, 10], [2.5, 2.5])
    for total, mean in ss.sim.Cluster(2, 1).run(main):
        assert (float(total), float(mean)) == (3, 1.5)


# Broadcasting.


def test_a_value_is_broadcast_to_every_replica_or_to_one_device(mirrored):
    strategy = mirrored(2)
    for value in (np.float32([1, 2]), [1.0, 2.0], strategy.xp.asarray([1.0, 2.0])):
        for destination in (variable_in(strategy), per_replica(strategy, 1, 2), None):
            copies = strategy.extended.broadcast_to(value, destination)
            assert (type(copies), listed(copies)) == (Mirrored, [[1, 2], [1, 2]])
            assert [one.placement for one in copies.values] == ["sim:0", "sim:1"]
        one = strategy.extended.broadcast_to(value, "sim:1")
        assert (np.asarray(one).tolist(), one.placement) == ([1, 2], "sim:1")


def test_what_is_broadcast_is_copied(mirrored):
    strategy, host = mirrored(2), np.float32([1, 2])
    copies = strategy.extended.broadcast_to(host, None)
    host[:] = 7
    assert listed(copies) == [[1, 2], [1, 2]]


@pytest.mark.parametrize("number", [3, 2.5, True, 1j])
def test_a_python_number_is_broadcast_as_it_is(mirrored, number):
    strategy = mirrored(2)
    assert strategy.extended.broadcast_to(number, variable_in(strategy)) is number


@pytest.mark.parametrize("kind", [PerReplica, Mirrored])
def test_a_distributed_value_is_not_broadcast(mirrored, kind):
    value = kind([1, 2])
    with pytest.raises(InvalidType) as raised:
        mirrored(2).extended.broadcast_to(value, None)
    assert str(raised.value) == (
        f"broadcast_to takes one value, and a {kind.__name__} has one per replica: {value!r}. Reduce it first: "
        f"extended.reduce_to(op, value, destinations)."
    )


# Contexts.

CALLS = {
    "reduce_to": lambda s, v: s.extended.reduce_to(ss.ReduceOp.MEAN, 1.0, v),
    "batch_reduce_to": lambda s, v: s.extended.batch_reduce_to(ss.ReduceOp.MEAN, [(1.0, v)]),
    "broadcast_to": lambda s, v: s.extended.broadcast_to(1.0, v),
    "update": lambda s, v: s.extended.update(v, lambda part: None),
    "update_non_slot": lambda s, v: s.extended.update_non_slot(("sim:0", "sim:1"), lambda: None),
    "call_for_each_replica": lambda s, v: s.extended.call_for_each_replica(lambda: None),
    "reduce": lambda s, v: s.reduce(ss.ReduceOp.MEAN, 1.0),
}


@pytest.mark.parametrize("name", CALLS)
def test_library_calls_are_for_cross_replica_contexts(mirrored, name):
    strategy = mirrored(2)
    v, call = variable_in(strategy), CALLS[name]
    call(strategy, v)
    with strategy.scope():
        call(strategy, v)
    with pytest.raises(ContextError, match=f"cross-replica context: {name} was called inside replica 0"):
        strategy.run(lambda: call(strategy, v))
    other = mirrored(2)
    with other.scope(), pytest.raises(ContextError, match=f"Mixing different strategies: {name} of"):
        call(strategy, v)


@pytest.mark.parametrize("name", CALLS)
def test_tf1_13_wants_a_scope_for_library_calls_and_reduce(mirrored, name):
    strategy = mirrored(2, semantics=ss.Semantics.TF1_13)
    v, call = variable_in(strategy), CALLS[name]
    with pytest.raises(ContextError, match=f"{name} was called outside. Enter the scope, or use Semantics.TF1_15"):
        call(strategy, v)
    with strategy.scope():
        call(strategy, v)
    strategy.run(lambda: ctx().merge_call(lambda merging: call(merging, v)))
    assert strategy.experimental_run(lambda: 5) == 5


# Variables.


def test_a_component_leads_back_to_its_variable_and_other_values_to_themselves(mirrored):
    strategy = mirrored(2)
    first, second = variable_in(strategy), variable_in(strategy, synchronization=ON_READ)
    container = strategy.extended.value_container
    for v in (first, second):
        assert container(v) is v
        assert all(container(part) is v for part in strategy.extended.update(v, lambda part: part, group=False))
        assert all(container(cell.native) is v for cell in v.state.storage.cells)
    for value in (None, 5, "text", first.components[0], PerReplica([1, 2])):
        assert container(value) is value


def test_variables_know_the_scope_they_were_created_in(mirrored):
    strategy, other = mirrored(2), mirrored(2)
    v, foreign, plain = variable_in(strategy), variable_in(other), ss.Variable(1.0)
    created = strategy.extended.variable_created_in_scope
    assert (created(v), created(foreign), created(plain)) == (True, False, False)
    assert all(created(part) for part in strategy.extended.update(v, lambda part: part, group=False))
    assert strategy.run(lambda: created(v)) is True
    assert ss.get_strategy().extended.variable_created_in_scope(plain)
    for value in (1, PerReplica([1, 2])):
        with pytest.raises(InvalidType, match="variable_created_in_scope takes a variable, got "):
            created(value)


def test_reading_a_variable_gives_its_first_component_or_its_aggregate(mirrored):
    strategy = mirrored(2)
    written = variable_in(strategy, 4.0)
    on_read = variable_in(strategy, 1.0, synchronization=ON_READ, aggregation=SUM)
    with strategy.scope():
        assert float(strategy.extended.read_var(written)) == 4
        assert float(strategy.extended.read_var(on_read)) == 2
    assert listed(strategy.run(lambda: strategy.extended.read_var(written))) == [4, 4]
    with pytest.raises(ContextError, match="read_var of an ON_READ variable was called inside replica 0"):
        strategy.run(lambda: strategy.extended.read_var(on_read))
    with pytest.raises(InvalidType, match="read_var takes a variable, got 5"):
        strategy.extended.read_var(5)
    plain = ss.Variable(3.0)
    assert float(ss.get_strategy().extended.read_var(plain)) == 3


def test_the_aggregate_of_a_variable_is_traced_to_the_line_that_read_it(mirrored):
    trace = ss.trace.Trace()
    strategy = mirrored(2, trace=trace)
    v = variable_in(strategy, 1.0, synchronization=ON_READ, aggregation=SUM)
    with strategy.scope():
        strategy.extended.read_var(v)
    line = test_the_aggregate_of_a_variable_is_traced_to_the_line_that_read_it.__code__.co_firstlineno + 5
    assert [event.site for event in trace.events()][-1] == f"test_extended.py:{line}"


def test_colocating_wants_a_variable_of_the_scope(mirrored):
    strategy, foreign = mirrored(2), variable_in(mirrored(2))
    v = variable_in(strategy)
    with strategy.scope():
        with strategy.extended.colocate_vars_with(v):
            beside = ss.Variable(1.0)
        assert [one.placement for one in beside.components] == [one.placement for one in v.components]
        for wrong in (foreign, v.components[0], 1, "sim:0", ss.get_strategy()):
            with pytest.raises(
                InvalidArgument, match="must only be passed a variable created in this strategy's scope"
            ):
                strategy.extended.colocate_vars_with(wrong)
    with pytest.raises(ContextError, match="colocate_vars_with was called outside"):
        strategy.extended.colocate_vars_with(v)
    with mirrored(2).scope(), pytest.raises(ContextError, match="Mixing different strategies: colocate_vars_with of"):
        strategy.extended.colocate_vars_with(v)
    assert strategy.run(lambda: strategy.extended.colocate_vars_with(v) is not None) is True
