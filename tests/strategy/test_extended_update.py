"""`extended.update` and `update_non_slot`: once per component, where it is, and what comes back.

Clauses: X-3, X-4, X-5, X-6, X-7.
"""

import warnings

import numpy as np
import pytest
from vocabulary import ON_READ, TF2, components, ctx, listed, rank, variable_in

import simstrategy as ss
from simstrategy import Mirrored, PerReplica
from simstrategy.errors import ContextError, InvalidArgument, InvalidType, MirroredDiverged, ReplicasDisagree

Aggregation = ss.VariableAggregation


@pytest.mark.parametrize("synchronization", [ss.VariableSynchronization.ON_WRITE, ON_READ])
@pytest.mark.parametrize("aggregation", Aggregation)
def test_the_function_gets_each_component_and_its_parts_of_the_arguments(mirrored, synchronization, aggregation):
    strategy = mirrored(2)
    v = variable_in(strategy, np.float32([1, 2]), synchronization=synchronization, aggregation=aggregation, name="v")
    seen = []

    def function(part, scale, *, shift):
        seen.append((part.name, part.device, part.dtype, part.shape, scale, np.asarray(shift["by"]).tolist()))
        assert part.native is v.state.storage.cells[part.index].native
        part.assign_add(shift["by"])
        part.assign_sub(1.0 * np.ones(2, np.float32))
        return part.assign(part.value() * 2).read_value()

    shift = strategy.extended.broadcast_to(np.float32([10, 20]), v)
    result = strategy.extended.update(v, function, args=(3,), kwargs={"shift": {"by": shift}})
    assert seen == [
        ("v", "sim:0", "float32", (2,), 3, [10, 20]),
        ("v/replica_1", "sim:1", "float32", (2,), 3, [10, 20]),
    ]
    assert (type(result), listed(result)) == (Mirrored, [[20, 42]] * 2)
    assert components(v) == [[20, 42]] * 2
    assert [one.placement for one in result.values] == ["sim:0", "sim:1"]


def test_each_call_is_in_a_cross_replica_context_on_its_device(mirrored):
    strategy = mirrored(2)
    seen = []

    def function(_):
        assert ss.get_strategy() is strategy
        seen.append((ss.in_cross_replica_context(), ctx(), strategy.xp.asarray(1.0).placement))

    strategy.extended.update(variable_in(strategy), function)
    assert seen == [(True, None, "sim:0"), (True, None, "sim:1")]
    assert not ss.has_strategy()


def test_what_all_calls_returned_comes_back_once(mirrored):
    strategy, shared = mirrored(2), object()
    v = variable_in(strategy)
    update = strategy.extended.update
    for value in (7, None, "text", shared):
        assert update(v, lambda _, value=value: value) is value
        assert update(v, lambda _, value=value: value, group=False) == (value,)
    assert update(v, lambda part: part) is v
    parts = update(v, lambda part: part, group=False)
    assert [part.container for part in parts] == [v, v]
    assert [repr(part) for part in parts] == [f"<Component {index} of {v!r}>" for index in (0, 1)]
    assert [float(part) for part in parts] == [1, 1]
    assert [np.asarray(part, np.float64).dtype for part in parts] == [np.float64] * 2


def test_nests_come_back_leaf_by_leaf(mirrored):
    strategy = mirrored(2)
    v = variable_in(strategy)
    grouped = strategy.extended.update(v, lambda part: {"a": [part.value(), 2]})
    assert (type(grouped["a"][0]), grouped["a"][1]) == (Mirrored, 2)
    apart = strategy.extended.update(v, lambda part: {"a": [part.value(), 2]}, group=False)
    assert ([float(one) for one in apart["a"][0]], apart["a"][1]) == ([1, 1], (2,))
    assert strategy.extended.update(v, lambda part: [], group=False) == []
    with pytest.raises(InvalidArgument, match="different structure at result"):
        strategy.extended.update(v, lambda part: [1] * part.index)


def test_another_variable_as_an_argument_is_its_component(mirrored):
    strategy = mirrored(2)
    v, other = variable_in(strategy), variable_in(strategy, 5.0, name="other", synchronization=ON_READ)
    names = strategy.extended.update(v, lambda part, given: part.assign(given) and [given.name], args=(other,))
    assert names[0].values == ("other", "other/replica_1")
    assert components(v) == [5, 5]
    assert strategy.extended.update(v, lambda part, given: given, args=([other],)) == [other]


@pytest.mark.parametrize("semantics", [ss.Semantics.TF1_13, ss.Semantics.TF1_15])
def test_per_replica_arguments_are_refused_before_tf2(mirrored, semantics):
    strategy = mirrored(2, semantics=semantics)
    v, value = variable_in(strategy), PerReplica([1.0, 2.0])
    with strategy.scope(), pytest.raises(InvalidType) as raised:
        strategy.extended.update(v, lambda part, given: part.assign(given), args=(value,))
    assert str(raised.value) == (
        f"Expected value to be mirrored across replicas: an update in {semantics.name} got {value!r}. Reduce it first: "
        f"extended.reduce_to(op, value, variable)."
    )
    assert components(v) == [1, 1]


def test_per_replica_arguments_are_each_components_own_in_tf2_and_divergence_is_named(mirrored):
    strategy = mirrored(2, semantics=TF2)
    v, value = variable_in(strategy, name="v"), PerReplica([1.0, 2.0])
    strategy.extended.update(v, lambda part, given: part.assign(given), args=(value,))
    assert components(v) == [1, 2]
    with pytest.warns(MirroredDiverged, match=r"assign of variable 'v' at test_extended_update.py:\d+ left"):
        strategy.run(lambda: None)


def test_an_update_that_keeps_components_equal_warns_of_nothing(mirrored):
    strategy = mirrored(2)
    v = variable_in(strategy, aggregation=Aggregation.SUM)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        strategy.extended.update(v, lambda part: part.assign_add(1.0))
        strategy.run(lambda: v.assign_add(ctx().xp.asarray(1.0)))
    assert components(v) == [4, 4]


def test_a_component_made_different_keeps_its_own_value_under_later_writes(mirrored):
    strategy = mirrored(2, semantics=TF2)
    v = variable_in(strategy, aggregation=Aggregation.SUM)
    strategy.extended.update(v, lambda part: part.assign(part.index * 10.0))
    with pytest.warns(MirroredDiverged):
        strategy.run(lambda: v.assign_add(ctx().xp.asarray(1.0)))
    assert components(v) == [2, 12]


def test_the_variable_itself_is_its_component_while_that_is_updated(mirrored):
    strategy = mirrored(2)
    v = variable_in(strategy)
    result = strategy.extended.update(v, lambda part: v.assign_add(part.value()))
    assert components(v) == [2, 2]
    assert listed(result) == [2, 2]
    assert listed(strategy.extended.update(v, lambda _: v.read_value())) == [2, 2]


@pytest.mark.parametrize("wrong", [np.ones(2, np.float32), np.float64(1), np.int32(1)])
def test_a_component_never_changes_its_form(mirrored, wrong):
    strategy = mirrored(2)
    v = variable_in(strategy, name="v")
    with pytest.raises(InvalidArgument) as raised:
        strategy.extended.update(v, lambda part: part.assign(wrong) if part.index else None)
    line = test_a_component_never_changes_its_form.__code__.co_firstlineno + 5
    assert str(raised.value) == (
        f"assign of 'v/replica_1' at test_extended_update.py:{line} got {wrong.dtype}{list(wrong.shape)}, and the "
        f"variable is float32[]. Reshape or cast the value: a variable never changes its form."
    )
    assert components(v) == [1, 1]


def test_an_exception_comes_out_unchanged_with_a_note_of_the_component(mirrored):
    strategy, error = mirrored(2), KeyError("mine")
    v = variable_in(strategy)

    def function(part):
        if part.index:
            raise error

    with pytest.raises(KeyError) as raised:
        strategy.extended.update(v, function)
    assert raised.value is error
    assert raised.value.__notes__ == ["In an update, on sim:1, of the component of replica 1."]
    assert not ss.has_strategy()


def test_updates_do_not_nest(mirrored):
    strategy = mirrored(2)
    v = variable_in(strategy)
    with pytest.raises(ContextError) as raised:
        strategy.extended.update(v, lambda part: strategy.extended.update(v, lambda inner: None))
    assert str(raised.value) == (
        "update was called inside the function of an update, which has one component at hand. Write that one."
    )


def test_replicas_may_run_inside_an_update(mirrored):
    strategy = mirrored(2)
    v = variable_in(strategy)
    sums = strategy.extended.update(
        v, lambda part: strategy.reduce("SUM", strategy.run(lambda: ctx().xp.asarray(rank() + 1.0)))
    )
    assert listed(sums) == [3, 3]


@pytest.mark.parametrize("wrong", [1.0, np.ones(2), PerReplica([1, 2]), None, "v"])
def test_an_update_is_of_a_variable_of_the_strategy(mirrored, wrong):
    strategy = mirrored(2)
    for given in (wrong, variable_in(mirrored(2)), ss.Variable(1.0), variable_in(strategy).components[0]):
        with pytest.raises(InvalidType, match="update takes a variable of <Strategy"):
            strategy.extended.update(given, lambda part: None)


def test_what_cannot_be_called_so_is_refused(mirrored):
    strategy = mirrored(2)
    v = variable_in(strategy)
    update, non_slot = strategy.extended.update, strategy.extended.update_non_slot
    for name, call in (
        ("update", lambda *rest: update(v, *rest)),
        ("update_non_slot", lambda *rest: non_slot((), *rest)),
    ):
        with pytest.raises(InvalidType) as raised:
            call(5)
        assert str(raised.value) == f"{name} takes a function to call for each component, got 5."
        with pytest.raises(InvalidType) as raised:
            call(list, 5)
        assert str(raised.value) == f"{name} takes a list or tuple as args and a mapping as kwargs, got 5, None."
        with pytest.raises(InvalidType, match=r"got \(\), \[1\]."):
            call(list, (), [1])


# In replica functions.


def test_replicas_meet_in_an_update_in_tf2(mirrored, executor):
    strategy = mirrored(2, semantics=TF2, executor=executor)
    v = variable_in(strategy)
    calls = []

    def function(part, delta, *, scale):
        calls.append(part.index)
        return part.assign(delta * scale).value()

    def replica():
        delta = ctx().xp.asarray(rank() + 1.0)
        return strategy.extended.update(v, function, args=(delta,), kwargs={"scale": 10})

    with pytest.warns(MirroredDiverged):
        result = strategy.run(replica)
    assert listed(result) == [10, 20]
    assert (calls, components(v)) == ([0, 1], [10, 20])
    apart = strategy.run(lambda: strategy.extended.update(v, lambda part: part.value(), group=False))
    assert [float(one) for one in apart] == [10, 20]
    assert strategy.run(lambda: strategy.extended.update(v, lambda part: 7, group=False)) == (7,)


def test_replicas_that_update_different_variables_disagree(mirrored):
    strategy = mirrored(2, semantics=TF2)
    one, other = variable_in(strategy, name="same"), variable_in(strategy, name="same")
    alone = variable_in(strategy, name="alone")

    def replica():
        chosen = other if rank() else one
        return strategy.extended.update(chosen, list)

    with pytest.raises(ReplicasDisagree, match=r"replica 1: update 'same' \(variable 1, made at .*\) by list"):
        strategy.run(replica)

    def missing():
        if rank():
            strategy.extended.update(alone, list, args=([1],))

    with pytest.raises(ReplicasDisagree) as raised:
        strategy.run(missing)
    line = missing.__code__.co_firstlineno
    assert str(raised.value).splitlines()[1:] == [
        f"  replica 0: returned from missing (test_extended_update.py:{line})",
        f"  replica 1: update 'alone' by list (([*],), {{}}) at test_extended_update.py:{line + 2}",
    ]


def test_an_update_is_an_event_of_the_trace(mirrored):
    trace = ss.trace.Trace()
    strategy = mirrored(2, trace=trace)
    strategy.extended.update(variable_in(strategy, name="v"), str)
    strategy.extended.update_non_slot(strategy.extended.non_slot_devices([]), list)
    last = list(trace.events())[-2:]
    assert [(event.kind, event.subject, event.dtypes) for event in last] == [
        ("update", "'v' by str", ()),
        ("update_non_slot", "list", ()),
    ]


# Other kinds.


def test_one_device_updates_the_variable_and_returns_what_the_function_did():
    strategy = ss.Strategy.one_device("sim")
    v = variable_in(strategy)
    result = object()
    assert strategy.extended.update(
        v, lambda given, x: (given, result, x, ss.in_cross_replica_context()), args=(3,)
    ) == ((v, result, 3, True))
    assert strategy.extended.update(v, lambda given: 7, group=False) == (7,)
    strategy.extended.update(v, lambda given: given.assign_add(1.0))
    assert components(v) == [2]


def test_the_default_strategy_updates_in_the_default_context():
    strategy, v = ss.get_strategy(), ss.Variable(1.0)
    seen = strategy.extended.update(v, lambda given: (given, ss.has_strategy(), ss.in_cross_replica_context()))
    assert seen == (v, False, False)
    assert strategy.extended.update(v, lambda given: 7, group=False) == (7,)
    assert strategy.extended.non_slot_devices([v]) is v
    assert strategy.extended.update_non_slot(None, lambda: 7) == 7


def test_central_storage_updates_its_one_component_once():
    strategy = ss.Strategy.central_storage("sim", replicas=3, semantics=TF2)
    v = variable_in(strategy)
    calls = []

    def function(given, x):
        calls.append((given, x, strategy.xp.asarray(1.0).placement))
        given.assign_add(x)
        return given.read_value()

    result = strategy.extended.update(v, function, args=(PerReplica([2.0, 3.0, 4.0]),))
    assert calls == [(v, 2.0, "sim:0")]
    assert (float(result), components(v)) == (3, [3])
    assert strategy.extended.update(v, lambda given: 7, group=False) == (7,)
    other = ss.Strategy.central_storage("sim", replicas=2)
    beside = variable_in(other)
    with pytest.raises(InvalidType, match="Expected value to be mirrored"):
        other.extended.update(beside, lambda given, x: None, args=(PerReplica([1, 2]),))


def test_one_mirrored_replica_gets_its_result_unwrapped(mirrored):
    strategy = mirrored(1)
    v = variable_in(strategy)
    assert float(strategy.extended.update(v, lambda part: part.assign(5.0).value())) == 5
    assert strategy.extended.update(v, lambda part: 7, group=False) == (7,)


def test_workers_update_their_own_components_and_have_to_agree():
    def main(strategy):
        v = variable_in(strategy, name="v")
        strategy.extended.update(v, lambda part: part.assign_add(2.0))
        return components(v)

    assert ss.sim.Cluster(2, 2).run(main) == ([3, 3], [3, 3])

    def apart(strategy):
        v = variable_in(strategy, name="v")
        if strategy.extended.should_checkpoint:
            strategy.extended.update(v, lambda part: None)
        strategy.run(lambda: None)

    with pytest.raises(ReplicasDisagree, match="worker 0: update 'v' by <lambda>"):
        ss.sim.Cluster(2, 1).run(apart)


# State of no one variable.


def test_update_non_slot_calls_once_on_each_device(mirrored):
    strategy = mirrored(2, semantics=TF2)
    v, seen = variable_in(strategy), []

    def function(x, *, y):
        seen.append((x, y, strategy.xp.asarray(1.0).placement, ss.in_cross_replica_context()))
        return strategy.xp.asarray(x)

    devices = strategy.extended.non_slot_devices([v])
    arguments = {"args": (PerReplica([1.0, 2.0]),), "kwargs": {"y": Mirrored([3, 3])}}
    result = strategy.extended.update_non_slot(devices, function, **arguments)
    assert seen == [(1.0, 3, "sim:0", True), (2.0, 3, "sim:1", True)]
    assert (type(result), listed(result)) == (Mirrored, [1, 2])
    apart = strategy.extended.update_non_slot(devices, function, **arguments, group=False)
    assert [float(one) for one in apart] == [1, 2]
    assert strategy.extended.update_non_slot(devices, lambda: 7, group=False) == (7,)


@pytest.mark.parametrize("wrong", [("sim:0",), ["sim:0", "sim:1"], None, "sim:0", ()])
def test_update_non_slot_takes_what_non_slot_devices_returned(mirrored, wrong):
    with pytest.raises(InvalidArgument) as raised:
        mirrored(2).extended.update_non_slot(wrong, lambda: None)
    assert str(raised.value) == (
        f"update_non_slot takes as colocate_with what non_slot_devices(variables) returned, got {wrong!r}."
    )


def test_central_storage_calls_once_beside_its_variable():
    strategy = ss.Strategy.central_storage("sim", replicas=2)
    v = variable_in(strategy)
    beside = strategy.extended.non_slot_devices([v])
    assert strategy.extended.update_non_slot(beside, lambda x: x, args=(7,), group=False) == (7,)
    with pytest.raises(InvalidArgument, match="what non_slot_devices"):
        strategy.extended.update_non_slot(("sim:0", "sim:1"), lambda: 7)
