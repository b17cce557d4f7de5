"""How variables come to be: in scopes, where no strategy is, by replicas together, in every kind of strategy."""

import copy
import pickle

import numpy as np
import pytest
from vocabulary import (
    AUTO,
    FIRST,
    KINDS,
    MEAN,
    NO_SYNC,
    NONE,
    ON_READ,
    ON_WRITE,
    SUM,
    components,
    ctx,
    line_here,
    rank,
    variable_in,
)

import simstrategy as ss
from simstrategy import Semantics
from simstrategy.errors import ContextError, InvalidArgument, InvalidType, ReplicasDisagree
from simstrategy.strategy import group_of, kinds
from simstrategy.strategy.variables.policies import SHARED, SINGLE, policy_of


@pytest.fixture
def central():
    def make(replicas=2, **settings):
        return ss.Strategy.central_storage("sim", replicas=replicas, **settings)

    return make


# By replicas.


# Clauses: U-11
def test_replicas_get_one_variable_with_replica_0s_name_and_value(mirrored, executor):
    strategy = mirrored(3, executor=executor)
    variable = strategy.run(
        lambda: ss.Variable(np.float32([rank() + 5]), name=f"layer_1/w_0{rank()}", aggregation=SUM, trainable=False)
    )
    assert type(variable) is ss.Variable
    assert (variable.name, variable.shape, variable.dtype) == ("layer_1/w_00", (1,), "float32")
    assert (variable.aggregation, variable.synchronization, variable.trainable) == (SUM, ON_WRITE, False)
    assert components(variable) == [[5]] * 3
    assert [one.placement for one in variable.components] == ["sim:0", "sim:1", "sim:2"]
    assert group_of(strategy).variables.created == [variable]
    strategy.run(lambda: variable.assign_add(np.float32([1])))
    assert components(variable) == [[8]] * 3


def test_a_variable_made_by_replicas_can_be_used_by_them_at_once(mirrored):
    def replica():
        variable = ss.Variable(1.0, aggregation=SUM, name="w")
        variable.assign_add(np.float32(rank()))
        return variable, variable.value()

    variable, values = mirrored(3).run(replica)
    assert [float(one) for one in values.values] == [4] * 3
    assert components(variable) == [4] * 3


def test_several_variables_are_made_in_order_and_names_may_repeat(mirrored):
    strategy = mirrored(2)
    one, two, three = strategy.run(lambda: [ss.Variable(1.0, name="d"), ss.Variable(2.0, name="d"), ss.Variable(3.0)])
    assert [v.name for v in (one, two, three)] == ["d", "d", "Variable_2"]
    assert [components(v) for v in (one, two, three)] == [[1, 1], [2, 2], [3, 3]]
    assert group_of(strategy).variables.created == [one, two, three]


def test_one_replica_makes_a_variable_too(mirrored):
    variable = mirrored(1).run(lambda: ss.Variable([1, 2], name="one_1"))
    assert (variable.name, components(variable)) == ("one_1", [[1, 2]])


def test_a_function_that_returns_the_first_value_is_called_where_the_variable_is_made(mirrored):
    strategy, calls = mirrored(2), []

    def initial():
        calls.append(ctx() and rank())
        return np.float32(len(calls))

    assert components(variable_in(strategy, initial)) == [1, 1]
    assert calls == [None]
    calls.clear()
    assert components(strategy.run(lambda: ss.Variable(initial))) == [1, 1]
    assert calls == [0, 1]


DIFFERENCES = {
    "name": ({"name": "v"}, "variable v ON_WRITE trainable NONE float32[]"),
    "shape": ({"initial_value": [1.0]}, "variable w ON_WRITE trainable NONE float32[1]"),
    "dtype": ({"dtype": "float64"}, "variable w ON_WRITE trainable NONE float64[]"),
    "aggregation": ({"aggregation": SUM}, "variable w ON_WRITE trainable SUM float32[]"),
    "synchronization": ({"synchronization": ON_READ, "trainable": True}, "variable w ON_READ trainable NONE float32[]"),
    "trainable": ({"trainable": False}, "variable w ON_WRITE NONE float32[]"),
}


@pytest.mark.parametrize("what", DIFFERENCES)
def test_replicas_that_make_different_variables_are_all_named(mirrored, what):
    settings, text = DIFFERENCES[what]
    strategy = mirrored(3)

    def replica():
        mine = {"initial_value": 1.0, "name": "w", **(settings if rank() == 1 else {})}
        return ss.Variable(mine.pop("initial_value"), **mine)

    with pytest.raises(ReplicasDisagree) as raised:
        strategy.run(replica)
    site = f"test_variables_made.py:{replica.__code__.co_firstlineno + 2}"
    assert str(raised.value).splitlines() == [
        "Replicas make different collective calls here. Make the same calls in the same order in all replicas:",
        f"  replica 0: variable w ON_WRITE trainable NONE float32[] at {site}",
        f"  replica 1: {text} at {site}",
        f"  replica 2: variable w ON_WRITE trainable NONE float32[] at {site}",
    ]
    assert group_of(strategy).variables.created == []


# Clauses: U-11
@pytest.mark.parametrize("makers", [(0,), (1,), (0, 2)])
def test_a_variable_that_only_some_replicas_make_is_a_disagreement(mirrored, makers):
    def replica():
        return ss.Variable(1.0, name="w") if rank() in makers else None

    with pytest.raises(ReplicasDisagree, match="returned from replica") as raised:
        mirrored(3).run(replica)
    assert str(raised.value).count("variable w ON_WRITE trainable NONE float32[]") == len(makers)


def test_another_order_is_a_disagreement(mirrored):
    def replica():
        return [ss.Variable(1.0, name=name) for name in (("p", "q") if rank() else ("q", "p"))]

    with pytest.raises(ReplicasDisagree, match=r"replica 0: variable q .*\n.*replica 1: variable p "):
        mirrored(2).run(replica)


@pytest.mark.parametrize(
    ("first", "second", "alike"),
    [
        ("foo_0", "foo_17", True),
        ("foo", "foo_1", True),
        ("n0x", "n1x", False),
        ("foo0", "foo1", False),
        ("foo_", "foo", False),
        ("_1", "_2", False),
        ("a_1_2", "a_1_3", True),
        ("a_1_2", "a_2_2", False),
        ("w_" + "1" * 40, "w_" + "2" * 40, False),
    ],
)
def test_a_number_after_an_underscore_at_the_end_of_a_name_may_differ(mirrored, first, second, alike):
    strategy = mirrored(2)
    run = lambda: strategy.run(lambda: ss.Variable(1.0, name=second if rank() else first))  # noqa: E731
    if alike:
        assert run().name == first
    else:
        with pytest.raises(ReplicasDisagree):
            run()


def test_variables_made_by_replicas_are_in_the_trace(mirrored):
    trace = ss.trace.Trace()
    mirrored(2, trace=trace).run(lambda: ss.Variable(np.zeros(2, np.float32), name=f"w_{rank()}"))
    found = [(e.kind, e.replica, e.op, e.subject, e.shapes) for e in trace.events() if e.kind != "run"]
    assert found == [("variable", number, "NONE", "w ON_WRITE trainable", ((2,),)) for number in (0, 1)]


def test_what_cannot_be_a_variable_is_refused_in_replicas_as_in_scopes(mirrored):
    strategy = mirrored(2)
    with pytest.raises(InvalidArgument, match="`NONE` variable synchronization mode is not supported"):
        strategy.run(lambda: ss.Variable(1.0, synchronization=NO_SYNC))
    with pytest.raises(InvalidType, match="Expected an array, a number"):
        strategy.run(lambda: ss.Variable("text"))
    with pytest.raises(InvalidType, match="It looks like you are using a PerReplica"):
        variable_in(strategy, ss.PerReplica([np.float32(1)] * 2))
    assert group_of(strategy).variables.created == []


def test_inside_a_merge_function_a_variable_is_made_as_in_a_scope(mirrored):
    strategy = mirrored(2)
    variable = strategy.run(lambda: ctx().merge_call(lambda _: ss.Variable(2.0, name="m")))
    assert (variable.name, components(variable)) == ("m", [2, 2])


# Clauses: U-1
def test_workers_that_make_variables_in_replicas_take_worker_0s_name_and_value():
    def main(strategy):
        variable = strategy.run(lambda: ss.Variable(np.float32(rank() + 3), name=f"w_{rank() + 4}", aggregation=SUM))
        strategy.run(lambda: variable.assign_add(np.float32(1)))
        return variable.name, components(variable)

    assert ss.sim.Cluster(2, 2).run(main) == (("w_4", [7, 7]),) * 2


@pytest.mark.parametrize("setting", [{"aggregation": SUM}, {"trainable": False}, {"synchronization": ON_READ}])
def test_workers_that_make_variables_of_different_settings_hear_of_it(setting):
    def main(strategy):
        with strategy.scope():
            ss.Variable(1.0, name="w", **(setting if group_of(strategy).coordinator.worker else {}))

    with pytest.raises(ReplicasDisagree, match=r"worker 0: variable w ON_WRITE trainable NONE .*\n  worker 1: "):
        ss.sim.Cluster(2, 1).run(main)


def test_trainable_on_read_variables_are_refused_in_tf1_13_alone(mirrored):
    with pytest.raises(InvalidArgument) as raised:
        variable_in(mirrored(2, semantics=Semantics.TF1_13), synchronization=ON_READ, trainable=True, name="w")
    assert str(raised.value) == (
        "Synchronization value can be set to VariableSynchronization.ON_READ only for non-trainable variables. Make "
        "variable 'w' with trainable=False, or use Semantics.TF1_15 or TF2."
    )
    for profile in (Semantics.TF1_15, Semantics.TF2):
        assert variable_in(mirrored(2, semantics=profile), synchronization=ON_READ, trainable=True).trainable
    assert not variable_in(mirrored(2, semantics=Semantics.TF1_13), synchronization=ON_READ, trainable=False).trainable


def test_a_variable_is_neither_copied_nor_pickled(mirrored):
    variable = variable_in(mirrored(2), name="w")
    for call in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(ContextError) as raised:
            call(variable)
        assert str(raised.value) == (
            "Variable 'w' is its strategy's, and is neither copied nor pickled. Make another one that begins with its "
            "value, Variable(variable), or keep its value: strategy.save([variable])."
        )


# Where no strategy is current, and on one device.


# Clauses: U-8
@pytest.mark.parametrize("synchronization", [AUTO, NO_SYNC, ON_WRITE, ON_READ])
@pytest.mark.parametrize("aggregation", [NONE, SUM, MEAN, FIRST])
@pytest.mark.parametrize("where", ["nowhere", "one device", "one central device"])
def test_a_plain_variable_is_written_at_once_whatever_its_settings(synchronization, aggregation, where):
    settings = {"synchronization": synchronization, "aggregation": aggregation}
    if where == "nowhere":
        strategy, variable = ss.get_strategy(), ss.Variable(np.int32(1), **settings)
    else:
        make = ss.Strategy.one_device if where == "one device" else ss.Strategy.central_storage
        strategy = make("sim", replicas=1, semantics=Semantics.TF2)
        variable = variable_in(strategy, np.int32(1), **settings)
    assert variable.state.policy == SINGLE
    assert (variable.synchronization, variable.aggregation) == (synchronization, aggregation)
    assert variable.trainable is (synchronization is not ON_READ)
    assert [int(variable.assign(6)), int(variable.assign_add(1)), int(variable.assign_sub(2))] == [6, 7, 5]
    assert int(strategy.run(lambda: variable.assign_add(5))) == 10
    assert [int(variable.value()), int(variable.read_value()), int(variable.numpy())] == [10, 10, 10]
    assert components(variable) == [10]
    assert variable.assign(1, read_value=False) is None


def test_a_variable_of_no_strategy_has_a_name_that_tells_nothing_of_what_came_before():
    assert [ss.Variable(1.0, name=name).name for name in (None, None, "w")] == ["Variable", "Variable", "w"]
    assert group_of(ss.get_strategy()).variables.created == []


def test_synchronization_is_auto_where_it_plays_no_part():
    assert ss.Variable(1.0, synchronization=None, aggregation=None).synchronization is AUTO
    with pytest.raises(InvalidArgument, match="Invalid variable synchronization mode: 'ON_READ'"):
        ss.Variable(1.0, synchronization="ON_READ")


def test_a_variable_made_under_the_default_strategy_is_of_no_strategy():
    default = ss.get_strategy()
    with default.scope():
        scoped = ss.Variable(1.0)
    run = default.run(lambda: ss.Variable(2.0))
    merged = ctx().merge_call(lambda _: ss.Variable(3.0))
    assert [one.state.policy for one in (scoped, run, merged)] == [SINGLE] * 3
    assert [float(one.value()) for one in (scoped, run, merged)] == [1, 2, 3]


def test_a_variable_of_one_device_is_made_in_its_replica_too():
    strategy = ss.Strategy.one_device("sim")
    variable = strategy.run(lambda: ss.Variable(1.0, synchronization=NO_SYNC, name="w_7"))
    assert (variable.state.policy, variable.name, group_of(strategy).variables.created) == (SINGLE, "w_7", [variable])


# Central storage.


# Clauses: U-9
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("profile", [Semantics.TF1_15, Semantics.TF2], ids=lambda profile: profile.name)
def test_a_central_variable_without_aggregation_is_not_written_by_replicas(central, kind, profile):
    strategy = central(2, semantics=profile)
    variable = variable_in(strategy, name="w")
    with pytest.raises(InvalidArgument, match=rf"in a replica function: {kind} at test_variables_made.py:\d+"):
        strategy.run(lambda: getattr(variable, kind)(2.0))
    assert components(variable) == [1]


# Clauses: U-9
@pytest.mark.parametrize(
    ("aggregation", "wanted"), [(SUM, (3, 4, -2)), (MEAN, (1.5, 2.5, -0.5)), (FIRST, (1, 2, 0))], ids=str
)
@pytest.mark.parametrize("synchronization", [AUTO, NO_SYNC, ON_WRITE, ON_READ])
def test_a_central_variable_takes_the_aggregate_once(central, executor, synchronization, aggregation, wanted):
    strategy = central(2, executor=executor)
    for kind, value in zip(KINDS, wanted, strict=True):
        variable = variable_in(strategy, synchronization=synchronization, aggregation=aggregation)
        returned = strategy.run(lambda kind=kind, variable=variable: getattr(variable, kind)(np.float32(rank() + 1)))
        assert components(variable) == [value]
        assert [float(one) for one in returned.values] == [value, value]
        assert [one.placement for one in returned.values] == ["sim:0", "sim:1"]
        assert [float(one) for one in strategy.run(variable.value).values] == [value, value]
        assert strategy.run(lambda variable=variable: variable.value().placement).values == ("sim:0", "sim:1")
        assert float(variable.value()) == float(variable.numpy()) == value


@pytest.mark.parametrize(("kind", "wanted"), [("assign", 5), ("assign_add", 6), ("assign_sub", -4)])
def test_one_object_given_to_a_central_variable_counts_once_or_is_refused(central, kind, wanted):
    strategy = central(3)
    for aggregation in (MEAN, FIRST):
        variable = variable_in(strategy, aggregation=aggregation)
        strategy.run(lambda variable=variable: getattr(variable, kind)(5.0))
        assert components(variable) == [wanted]
    variable = variable_in(strategy, aggregation=SUM)
    with pytest.raises(InvalidArgument, match=r"A non-DistributedValues value 5\.0 cannot be reduced"):
        strategy.run(lambda: getattr(variable, kind)(5.0))
    assert components(variable) == [1]


def test_a_central_variable_is_written_across_replicas_with_one_value(central):
    strategy = central(2)
    variable = variable_in(strategy, aggregation=MEAN, name="w")
    with strategy.scope():
        assert [float(getattr(variable, kind)(6.0)) for kind in KINDS] == [6, 12, 6]
    assert float(variable.assign(ss.Mirrored([np.float32(2)] * 2))) == 2
    here = line_here() + 2
    with pytest.raises(InvalidType) as raised:
        variable.assign(ss.PerReplica([np.float32(1), np.float32(2)]))
    assert str(raised.value) == (
        f"assign of variable 'w' at test_variables_made.py:{here} takes one value and got a PerReplica: it has one "
        f"for all replicas. Reduce it first, or assign inside a replica function."
    )
    assert components(variable) == [2]


def test_central_replicas_make_one_variable_with_one_component(central):
    strategy = central(2)
    variable = strategy.run(lambda: ss.Variable(np.float32(rank() + 3), aggregation=SUM, name="w"))
    assert components(variable) == [3]
    assert repr(variable) == "<Variable 'w' float32[] AUTO, aggregation SUM, on sim:0>"
    with pytest.raises(ReplicasDisagree):
        strategy.run(lambda: ss.Variable(1.0, name="x" if rank() else "y"))


def test_a_central_mean_of_integers_is_made_and_not_written_by_replicas(central):
    strategy = central(2, semantics=Semantics.TF2)
    variable = variable_in(strategy, np.int32(1), aggregation=MEAN)
    with pytest.raises(InvalidArgument, match="the mean of int32 is float64"):
        strategy.run(lambda: variable.assign(np.int32(rank())))
    assert components(variable) == [1]


def test_policies_of_every_kind():
    for profile in (Semantics.TF1_13, Semantics.TF1_15, Semantics.TF2):
        for aggregation in (NONE, SUM, MEAN, FIRST):
            for synchronization in (ON_WRITE, ON_READ):
                settings = (profile, synchronization, aggregation)
                assert policy_of(kinds.CENTRAL_STORAGE, 2, *settings) == SHARED[aggregation]
                assert policy_of(kinds.CENTRAL_STORAGE, 1, *settings) == SINGLE
                assert policy_of(kinds.ONE_DEVICE, 1, *settings) == SINGLE
                assert policy_of(kinds.DEFAULT, 1, *settings) == SINGLE
                assert policy_of(kinds.MIRRORED, 1, *settings) == policy_of(kinds.MULTI_WORKER, 4, *settings)
                assert "profile" not in policy_of(kinds.MIRRORED, 1, *settings)
