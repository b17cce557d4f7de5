"""Variables: creation, and the tables of reads and writes over synchronization and aggregation."""

import itertools

import numpy as np
import pytest

import simstrategy as ss
from simstrategy import Semantics, VariableAggregation, VariableSynchronization
from simstrategy.errors import ContextError, InvalidArgument, ReplicasDisagree
from simstrategy.strategy.policies import POLICIES

NONE, SUM, MEAN, FIRST = (VariableAggregation[n] for n in ("NONE", "SUM", "MEAN", "ONLY_FIRST_REPLICA"))
ON_WRITE, ON_READ = VariableSynchronization.ON_WRITE, VariableSynchronization.ON_READ
PROFILES = [Semantics.TF1_13, Semantics.TF1_15, Semantics.TF2]
KINDS = ("assign", "assign_add", "assign_sub")


def ctx():
    return ss.get_replica_context()


def rank():
    return ctx().replica_id_in_sync_group


def made(strategy, value=1.0, **settings):
    with strategy.scope():
        return ss.Variable(value, **settings)


def components(variable):
    return [np.asarray(one).tolist() for one in variable.components]


def write(variable, kind, value):
    getattr(variable, kind)(value)


def test_the_table_has_every_pair_once():
    assert set(POLICIES) == set(itertools.product((ON_WRITE, ON_READ), (NONE, SUM, MEAN, FIRST)))


# The tables of two replicas, every component 1 before, a replica's value its rank + 1.

REPLICA_ON_WRITE = [
    (SUM, "assign", [3, 3]),
    (SUM, "assign_add", [4, 4]),
    (SUM, "assign_sub", [-2, -2]),
    (MEAN, "assign", [1.5, 1.5]),
    (MEAN, "assign_add", [2.5, 2.5]),
    (MEAN, "assign_sub", [-0.5, -0.5]),
    (FIRST, "assign", [1, 1]),
    (FIRST, "assign_add", [2, 2]),
    (FIRST, "assign_sub", [0, 0]),
]


@pytest.mark.parametrize(("aggregation", "kind", "wanted"), REPLICA_ON_WRITE)
@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
def test_a_replicas_write_to_an_on_write_variable_is_aggregated(mirrored, carrier, aggregation, kind, wanted, profile):
    strategy = mirrored(2, semantics=profile, lanes=carrier)
    variable = made(strategy, aggregation=aggregation)
    after = strategy.run(lambda: [getattr(variable, kind)(np.float32(rank() + 1)), variable.value()][1])
    assert components(variable) == wanted
    assert [float(one) for one in after.values] == wanted


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [1, 2])
def test_an_unaggregated_replica_write_is_refused_before_tf2(mirrored, kind, count):
    for profile in (Semantics.TF1_13, Semantics.TF1_15):
        strategy = mirrored(count, semantics=profile)
        variable = made(strategy, name="w")
        with pytest.raises(
            InvalidArgument, match=f"must specify an aggregation method .* 'w'.*{kind} at test_variables.py"
        ):
            strategy.run(lambda variable=variable: write(variable, kind, 2.0))
        assert components(variable) == [1] * count


@pytest.mark.parametrize(("kind", "wanted"), [("assign", [1, 2]), ("assign_add", [2, 3]), ("assign_sub", [0, -1])])
def test_an_unaggregated_replica_write_is_local_in_tf2(mirrored, kind, wanted):
    strategy = mirrored(2, semantics=Semantics.TF2)
    variable = made(strategy)
    strategy.run(lambda: write(variable, kind, np.float32(rank() + 1)))
    assert components(variable) == wanted


@pytest.mark.parametrize(("kind", "wanted"), [("assign", [1, 2]), ("assign_add", [2, 3]), ("assign_sub", [0, -1])])
@pytest.mark.parametrize("aggregation", [NONE, SUM, MEAN, FIRST])
@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
def test_a_replicas_write_to_an_on_read_variable_is_its_own(mirrored, aggregation, kind, wanted, profile):
    strategy = mirrored(2, semantics=profile)
    variable = made(strategy, synchronization=ON_READ, aggregation=aggregation)
    reads = strategy.run(lambda: [write(variable, kind, np.float32(rank() + 1)), variable.value()][1])
    assert components(variable) == wanted
    assert [float(one) for one in reads.values] == wanted


@pytest.mark.parametrize(("kind", "wanted"), [("assign", 6), ("assign_add", 7), ("assign_sub", -5)])
@pytest.mark.parametrize(
    ("synchronization", "aggregation"),
    [
        (ON_WRITE, NONE),
        (ON_WRITE, SUM),
        (ON_WRITE, MEAN),
        (ON_WRITE, FIRST),
        (ON_READ, NONE),
        (ON_READ, MEAN),
        (ON_READ, FIRST),
    ],
)
@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
def test_a_write_outside_replicas_reaches_every_component(
    mirrored, synchronization, aggregation, kind, wanted, profile
):
    strategy = mirrored(2, semantics=profile)
    variable = made(strategy, synchronization=synchronization, aggregation=aggregation)
    result = getattr(variable, kind)(6.0)
    assert components(variable) == [wanted, wanted]
    assert type(result) is ss.Mirrored
    with strategy.scope():
        variable.assign(1.0)
        write(variable, kind, 6.0)
    assert components(variable) == [wanted, wanted]


def test_each_component_of_a_diverged_variable_changes_from_its_own_value(mirrored):
    strategy = mirrored(2, semantics=Semantics.TF2)
    variable = made(strategy)
    strategy.run(lambda: variable.assign(np.float32(rank() * 10)))
    variable.assign_add(1.0)
    assert components(variable) == [1, 11]
    variable.assign_sub(ss.PerReplica([np.float32(1), np.float32(2)]))
    assert components(variable) == [0, 9]
    variable.assign(5.0)
    variable.assign_add(1.0)
    assert components(variable) == [6, 6]


def test_an_aggregated_delta_is_added_to_each_replicas_own_value(mirrored):
    strategy = mirrored(2)
    variable = made(strategy, aggregation=SUM)
    variable.assign(ss.PerReplica([np.float32(1), np.float32(100)]))
    strategy.run(lambda: variable.assign_add(np.float32(rank() + 1)))
    assert components(variable) == [4, 103]


CROSS_READS = [(ON_WRITE, NONE, 1), (ON_WRITE, SUM, 1), (ON_WRITE, MEAN, 1), (ON_WRITE, FIRST, 1)]
CROSS_READS += [(ON_READ, SUM, 3), (ON_READ, MEAN, 1.5), (ON_READ, FIRST, 1)]


@pytest.mark.parametrize(("synchronization", "aggregation", "wanted"), CROSS_READS)
def test_a_read_outside_replicas_is_the_first_component_or_the_aggregate(
    mirrored, same, synchronization, aggregation, wanted
):
    strategy = mirrored(2)
    variable = made(strategy, synchronization=synchronization, aggregation=aggregation)
    if synchronization is ON_WRITE:
        variable.assign(ss.PerReplica([np.float32(1), np.float32(2)]))
    else:
        strategy.run(lambda: variable.assign(np.float32(rank() + 1)))
    for read in (variable.value, variable.read_value, variable.numpy):
        same(read(), np.float32(wanted))
    with strategy.scope():
        same(variable.value(), np.float32(wanted))
    merged = strategy.run(lambda: ctx().merge_call(lambda strategy: float(variable.value())))
    assert merged == wanted
    assert [float(one) for one in strategy.run(variable.read_value).values] == [1, 2]
    assert [float(one) for one in strategy.run(variable.numpy).values] == [1, 2]


def test_an_on_read_variable_without_an_aggregation_has_no_value_outside(mirrored):
    strategy = mirrored(2)
    variable = made(strategy, synchronization=ON_READ, name="w")
    for read in (variable.value, variable.read_value, variable.numpy):
        with pytest.raises(
            InvalidArgument, match=r"Could not convert from VariableAggregation.NONE.*'w'.*test_variables"
        ):
            read()


@pytest.mark.parametrize("kind", ["assign_add", "assign_sub"])
@pytest.mark.parametrize("count", [1, 2])
def test_a_total_cannot_be_added_to_an_on_read_sum(mirrored, kind, count):
    variable = made(mirrored(count), synchronization=ON_READ, aggregation=SUM)
    with pytest.raises(InvalidArgument, match=f"does not support `{kind}` in a cross-replica context"):
        write(variable, kind, 6.0)
    assert components(variable) == [1] * count


@pytest.mark.parametrize(
    ("profile", "count", "total", "dtype", "share"),
    [
        (Semantics.TF1_15, 2, 6.0, "float32", 3.0),
        (Semantics.TF2, 2, 6.0, "float32", 3.0),
        (Semantics.TF1_15, 3, 5.0, "float32", float(np.float32(5) * np.float32(1 / 3))),
        (Semantics.TF2, 3, 5.0, "float32", float(np.float32(5) / np.float32(3))),
        (Semantics.TF2, 2, 7, "int32", 3),
        (Semantics.TF2, 2, -7, "int32", -3),
        (Semantics.TF2, 1, 7, "int32", 7),
    ],
)
def test_a_total_assigned_to_an_on_read_sum_is_shared_out(mirrored, profile, count, total, dtype, share):
    variable = made(mirrored(count, semantics=profile), 0, dtype=dtype, synchronization=ON_READ, aggregation=SUM)
    variable.assign(np.asarray(total, dtype))
    assert components(variable) == [share] * count
    assert {str(one.dtype) for one in variable.components} == {dtype}


def test_a_total_of_integers_cannot_be_shared_out_before_tf2(mirrored):
    for profile in (Semantics.TF1_13, Semantics.TF1_15):
        strategy = mirrored(2, semantics=profile)
        variable = made(strategy, 1, dtype="int32", synchronization=ON_READ, aggregation=SUM)
        with pytest.raises(InvalidArgument, match="int32 cannot be shared out by multiplication"):
            variable.assign(np.int32(7))
        assert components(variable) == [1, 1]


def test_a_total_is_one_value_not_one_per_replica(mirrored):
    variable = made(mirrored(2), synchronization=ON_READ, aggregation=SUM)
    with pytest.raises(InvalidArgument, match="takes the total, not one value per replica"):
        variable.assign(ss.PerReplica([np.float32(1), np.float32(2)]))


@pytest.mark.parametrize("kind", KINDS)
def test_one_object_given_by_all_replicas_cannot_be_summed(mirrored, kind):
    strategy = mirrored(2)
    variable = made(strategy, aggregation=SUM)
    shared = np.float32(5)
    for value in (5.0, 0.0, shared):
        with pytest.raises(
            InvalidArgument, match=r"A non-DistributedValues value .* cannot be reduced with ReduceOp.SUM"
        ):
            strategy.run(lambda value=value: write(variable, kind, value))
    assert components(variable) == [1, 1]


@pytest.mark.parametrize(("kind", "wanted"), [("assign", 5), ("assign_add", 6), ("assign_sub", -4)])
@pytest.mark.parametrize("aggregation", [MEAN, FIRST])
def test_one_object_given_by_all_replicas_is_its_own_mean(mirrored, kind, wanted, aggregation):
    strategy = mirrored(2)
    variable = made(strategy, aggregation=aggregation)
    strategy.run(lambda: write(variable, kind, 5.0))
    assert components(variable) == [wanted, wanted]


def test_one_replica_may_give_any_object(mirrored):
    strategy = mirrored(1)
    variable = made(strategy, aggregation=SUM)
    strategy.run(lambda: variable.assign_add(5.0))
    assert components(variable) == [6]


def test_the_mean_of_integer_writes_is_refused_in_every_profile_and_nothing_is_written(mirrored):
    strategy = mirrored(2)
    variable = made(strategy, np.int32(1), aggregation=MEAN)
    for kind in KINDS:
        with pytest.raises(InvalidArgument, match=f"{kind} of variable .* the mean of int32 is float64"):
            strategy.run(lambda kind=kind: write(variable, kind, np.int32(rank() + 1)))
    assert components(variable) == [1, 1]
    strategy.run(lambda: variable.assign(5))
    assert components(variable) == [5, 5]
    assert variable.components[0].dtype == np.int32
    with pytest.raises(InvalidArgument, match="aggregation MEAN needs a floating dtype, and it is int32"):
        made(mirrored(2, semantics=Semantics.TF2), np.int32(1), aggregation=MEAN)


@pytest.mark.parametrize("replicas", [1, 2, 3, 8])
def test_components_stay_equal_to_the_bit_over_many_steps(mirrored, replicas):
    strategy = mirrored(replicas)
    variable = made(strategy, np.linspace(0, 1, 5).astype(np.float32), aggregation=SUM)
    for step in range(5):
        strategy.run(lambda step=step: variable.assign_sub(np.full(5, 0.1 * (rank() + step), np.float32)))
    assert len({one.tobytes() for one in variable.components}) == 1
    assert [one.placement for one in variable.components] == [f"sim:{i}" for i in range(replicas)]


def test_what_was_read_does_not_change_with_a_later_write(mirrored):
    strategy = mirrored(2)
    variable = made(strategy, np.float32([1, 2]), aggregation=SUM)

    def replica():
        before = variable.value()
        variable.assign_add(np.ones(2, np.float32) * (rank() + 1))
        return before.tolist(), variable.value().tolist()

    before, after = strategy.run(replica)
    assert [one.values for one in before] == [(1, 1), (2, 2)]
    assert [one.values for one in after] == [(4, 4), (5, 5)]


def test_a_written_array_may_be_changed_afterwards_by_its_maker(mirrored):
    strategy = mirrored(2)
    variable = made(strategy, np.float32([1, 2]), synchronization=ON_READ)

    def replica():
        mine = ctx().xp.asarray([5.0, 6.0])
        variable.assign(mine)
        mine[0] = 99

    strategy.run(replica)
    host = np.float32([7, 8])
    assert components(variable) == [[5, 6], [5, 6]]
    variable.assign(host)
    host[0] = 99
    assert components(variable) == [[7, 8], [7, 8]]


@pytest.mark.parametrize(
    ("value", "found"),
    [(np.float32([1]), r"float32\[1\]"), (np.float64(1), r"float64\[\]"), (np.ones((2, 2)), r"float64\[2, 2\]")],
)
@pytest.mark.parametrize("kind", KINDS)
def test_a_value_of_another_form_is_refused_in_and_outside_replicas(mirrored, kind, value, found):
    strategy = mirrored(2)
    variable = made(strategy, aggregation=SUM, name="w")
    text = rf"{kind} of variable 'w' \(test_variables.py:\d+, replica 0\) got {found}, and the variable is float32\[\]"
    with pytest.raises(InvalidArgument, match=text):
        write(variable, kind, value)
    with pytest.raises(InvalidArgument, match=text):
        strategy.run(lambda: write(variable, kind, value))
    assert components(variable) == [1, 1]


def test_a_value_of_another_number_of_components_is_refused(mirrored):
    variable = made(mirrored(2))
    for value in (ss.PerReplica([np.float32(1)]), ss.Mirrored([np.float32(1)] * 3)):
        with pytest.raises(InvalidArgument, match=r"got [13] components for 2 replicas"):
            variable.assign(value)


def test_replicas_must_write_the_same_variables_in_the_same_order(mirrored):
    strategy = mirrored(2)
    one, other = made(strategy, aggregation=SUM, name="one"), made(strategy, aggregation=SUM, name="other")

    def replica():
        (one if rank() else other).assign_add(np.float32(rank() + 1))

    with pytest.raises(ReplicasDisagree, match=r"assign_add other SUM float32\[\].*\n.*assign_add one SUM float32\[\]"):
        strategy.run(replica)
    assert components(one) == components(other) == [1, 1]


def test_another_variable_may_be_given_as_a_value(mirrored):
    strategy = mirrored(2)
    source = made(strategy, 5.0)
    variable = made(strategy, aggregation=FIRST)
    variable.assign(source)
    assert components(variable) == [5, 5]
    strategy.run(lambda: variable.assign_add(source))
    assert components(variable) == [10, 10]
    assert components(made(strategy, source)) == [5, 5]


def test_a_variable_is_made_in_a_scope_only(mirrored):
    strategy = mirrored(2)
    with pytest.raises(ContextError, match=r"made outside any strategy. Make it in .with strategy.scope"):
        ss.Variable(1.0)
    with pytest.raises(ContextError, match="made inside a replica function"):
        strategy.run(lambda: ss.Variable(1.0))


def test_variables_are_kept_in_creation_order_with_names(mirrored):
    strategy = mirrored(2)
    variables = [made(strategy), made(strategy, name="w"), made(strategy)]
    assert strategy.extended.engine.created == variables
    assert [one.name for one in variables] == ["Variable_0", "w", "Variable_2"]


@pytest.mark.parametrize(
    ("value", "dtype", "wanted", "shape"),
    [
        (1.0, None, "float32", ()),
        (1, None, "int32", ()),
        (True, None, "bool", ()),
        ([1.0, 2.0], None, "float32", (2,)),
        (np.float64([1]), None, "float64", (1,)),
        (1, "float64", "float64", ()),
        (np.float64([1]), "float32", "float32", (1,)),
        (np.zeros((2, 0)), np.float16, "float16", (2, 0)),
    ],
)
def test_a_variable_has_the_dtype_that_was_asked_for_or_its_values(mirrored, value, dtype, wanted, shape):
    variable = made(mirrored(2), value, dtype=dtype)
    assert variable.dtype == wanted
    assert variable.shape == shape
    assert all(str(one.dtype) == wanted and one.shape == shape for one in variable.components)


def test_a_variable_starts_with_a_copy_of_its_initial_value(mirrored):
    initial = np.float32([1, 2])
    variable = made(mirrored(2), initial)
    initial[0] = 9
    assert components(variable) == [[1, 2], [1, 2]]


def test_trainable_is_off_by_default_for_what_is_synchronized_on_read(mirrored):
    strategy = mirrored(2)
    assert made(strategy).trainable is True
    assert made(strategy, synchronization=ON_READ).trainable is False
    assert made(strategy, synchronization=ON_READ, trainable=True).trainable is True
    assert made(strategy, trainable=False).trainable is False


def test_auto_is_on_write_and_none_is_no_aggregation(mirrored):
    variable = made(mirrored(2), synchronization=VariableSynchronization.AUTO, aggregation=None)
    assert variable.synchronization is ON_WRITE
    assert variable.aggregation is NONE
    assert made(mirrored(2), synchronization=None).synchronization is ON_WRITE


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"synchronization": VariableSynchronization.NONE}, "`NONE` variable synchronization mode is not supported"),
        ({"synchronization": "ON_READ"}, "Invalid variable synchronization mode: 'ON_READ' for variable 'w'"),
        ({"aggregation": "SUM"}, "Invalid variable aggregation mode: 'SUM' for variable 'w'"),
        ({"aggregation": ss.ReduceOp.SUM}, "Invalid variable aggregation mode"),
        ({"dtype": "floaty"}, "floaty"),
    ],
)
def test_impossible_settings_are_refused(mirrored, settings, text):
    with pytest.raises(InvalidArgument, match=text):
        made(mirrored(2), name="w", **settings)


def test_a_variable_is_written_in_words(mirrored):
    text = repr(made(mirrored(5), np.zeros((2, 3), np.float32), aggregation=SUM, name="w"))
    assert text == "<Variable 'w' float32[2, 3] ON_WRITE, aggregation SUM, on sim:0, sim:1, sim:2, sim:3, …>"


def test_a_variable_of_one_strategy_cannot_be_written_under_another_and_can_be_read(mirrored):
    one, other = mirrored(2), mirrored(2)
    variable = made(one, 3.0, name="w", aggregation=SUM)
    with other.scope(), pytest.raises(ContextError, match=r"Mixing different strategies: assign on variable 'w'"):
        variable.assign(1.0)
    with pytest.raises(ContextError, match=r"Mixing different strategies: assign_add on variable 'w'"):
        other.run(lambda: variable.assign_add(1.0))
    with other.scope():
        assert float(variable.value()) == 3


def test_native_is_this_replicas_storage(mirrored):
    strategy = mirrored(2)
    variable = made(strategy)
    assert variable.native is strategy.run(lambda: variable.native).values[0]
    assert strategy.run(lambda: variable.native.read().placement).values == ("sim:0", "sim:1")


def test_writes_are_in_the_trace_with_name_op_and_form(mirrored):
    trace = ss.trace.Trace()
    strategy = mirrored(2, trace=trace)
    variable = made(strategy, np.zeros(2, np.float32), aggregation=MEAN, name="w")
    strategy.run(lambda: variable.assign_add(np.ones(2, np.float32) * rank()))
    variable.assign(np.ones(2, np.float32))
    found = [(e.kind, e.replica, e.op, e.subject, e.shapes) for e in trace.events() if e.kind != "run"]
    assert found == [
        ("variable", None, None, "w", ((2,),)),
        ("assign_add", 0, "MEAN", "w", ((2,),)),
        ("assign_add", 1, "MEAN", "w", ((2,),)),
        ("assign", None, None, "w", ((2,),)),
    ]
