"""Variables: settings, and the tables of reads and writes over synchronization and aggregation."""

import itertools
from contextlib import nullcontext

import numpy as np
import pytest
from vocabulary import (
    FIRST,
    KINDS,
    MEAN,
    NONE,
    ON_READ,
    ON_WRITE,
    PROFILES,
    SUM,
    components,
    ctx,
    line_here,
    rank,
    variable_in,
)

import simstrategy as ss
from simstrategy import Semantics, VariableSynchronization
from simstrategy.errors import ContextError, InvalidArgument, InvalidType, MirroredDiverged, OneReplicasShare
from simstrategy.strategy import group_of
from simstrategy.strategy.variables.policies import POLICIES


def write(variable, kind, value):
    return getattr(variable, kind)(value)


WRITE_LINE = write.__code__.co_firstlineno + 1


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


# Clauses: U-2
@pytest.mark.parametrize(("aggregation", "kind", "wanted"), REPLICA_ON_WRITE)
@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
def test_a_replicas_write_to_an_on_write_variable_is_aggregated(mirrored, executor, aggregation, kind, wanted, profile):
    strategy = mirrored(2, semantics=profile, executor=executor)
    variable = variable_in(strategy, aggregation=aggregation)
    after = strategy.run(lambda: [getattr(variable, kind)(np.float32(rank() + 1)), variable.value()][1])
    assert components(variable) == wanted
    assert [float(one) for one in after.values] == wanted


# Clauses: U-2
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [1, 2])
def test_an_unaggregated_replica_write_is_refused_before_tf2(mirrored, kind, count):
    for profile in (Semantics.TF1_13, Semantics.TF1_15):
        strategy = mirrored(count, semantics=profile)
        variable = variable_in(strategy, name="w")
        with pytest.raises(
            InvalidArgument, match=f"must specify an aggregation method .* 'w'.*{kind} at test_variables.py"
        ):
            strategy.run(lambda variable=variable: write(variable, kind, 2.0))
        assert components(variable) == [1] * count


# Clauses: U-2
@pytest.mark.parametrize(("kind", "wanted"), [("assign", [1, 2]), ("assign_add", [2, 3]), ("assign_sub", [0, -1])])
def test_an_unaggregated_replica_write_is_local_in_tf2(mirrored, kind, wanted):
    strategy = mirrored(2, semantics=Semantics.TF2)
    variable = variable_in(strategy)
    with pytest.warns(MirroredDiverged):
        strategy.run(lambda: write(variable, kind, np.float32(rank() + 1)))
    assert components(variable) == wanted


# Clauses: U-4
@pytest.mark.parametrize(("kind", "wanted"), [("assign", [1, 2]), ("assign_add", [2, 3]), ("assign_sub", [0, -1])])
@pytest.mark.parametrize("aggregation", [NONE, SUM, MEAN, FIRST])
@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
def test_a_replicas_write_to_an_on_read_variable_is_its_own(mirrored, aggregation, kind, wanted, profile):
    strategy = mirrored(2, semantics=profile)
    variable = variable_in(strategy, synchronization=ON_READ, aggregation=aggregation)
    reads = strategy.run(lambda: [write(variable, kind, np.float32(rank() + 1)), variable.value()][1])
    assert components(variable) == wanted
    assert [float(one) for one in reads.values] == wanted


# Clauses: U-5
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
    variable = variable_in(strategy, synchronization=synchronization, aggregation=aggregation)
    with strategy.scope():
        if profile is Semantics.TF1_13 and synchronization is ON_READ and kind != "assign":
            with pytest.raises(ContextError, match="Replica-local variables may only be assigned in a replica context"):
                write(variable, kind, 6.0)
            assert components(variable) == [1, 1]
            return
        write(variable, kind, 6.0)
        assert components(variable) == [wanted, wanted]
        variable.assign(1.0)
    if profile is Semantics.TF1_13:
        with pytest.raises(ContextError, match="Need to be inside"):
            write(variable, kind, 6.0)
        assert components(variable) == [1, 1]
    else:
        write(variable, kind, 6.0)
        assert components(variable) == [wanted, wanted]


def test_each_component_of_a_diverged_variable_changes_from_its_own_value(mirrored):
    strategy = mirrored(2, semantics=Semantics.TF2)
    variable = variable_in(strategy)
    with pytest.warns(MirroredDiverged):
        strategy.run(lambda: variable.assign(np.float32(rank() * 10)))
    variable.assign_add(0.5)
    variable.assign_add(0.5)
    assert components(variable) == [1, 11]
    with pytest.warns(MirroredDiverged):
        variable.assign_sub(ss.PerReplica([np.float32(1), np.float32(2)]))
    assert components(variable) == [0, 9]
    variable.assign(5.0)
    variable.assign_add(1.0)
    assert components(variable) == [6, 6]


def test_an_aggregated_delta_is_added_to_each_replicas_own_value(mirrored):
    strategy = mirrored(2)
    variable = variable_in(strategy, aggregation=SUM)
    with pytest.warns(MirroredDiverged):
        variable.assign(ss.PerReplica([np.float32(1), np.float32(100)]))
    strategy.run(lambda: variable.assign_add(np.float32(rank() + 1)))
    assert components(variable) == [4, 103]


CROSS_READS = [(ON_WRITE, NONE, 1), (ON_WRITE, SUM, 1), (ON_WRITE, MEAN, 1), (ON_WRITE, FIRST, 1)]
CROSS_READS += [(ON_READ, SUM, 3), (ON_READ, MEAN, 1.5), (ON_READ, FIRST, 1)]


def with_components_1_and_2(strategy, synchronization, aggregation):
    variable = variable_in(strategy, synchronization=synchronization, aggregation=aggregation, name="w")
    if synchronization is ON_WRITE:
        with strategy.scope(), pytest.warns(MirroredDiverged):
            variable.assign(ss.PerReplica([np.float32(1), np.float32(2)]))
    else:
        strategy.run(lambda: variable.assign(np.float32(rank() + 1)))
    return variable


# Clauses: U-4
@pytest.mark.parametrize(("synchronization", "aggregation", "wanted"), CROSS_READS)
@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
def test_a_read_in_scope_is_the_first_component_or_the_aggregate(
    mirrored, same, synchronization, aggregation, wanted, profile
):
    strategy = mirrored(2, semantics=profile)
    variable = with_components_1_and_2(strategy, synchronization, aggregation)
    with strategy.scope():
        for read in (variable.value, variable.read_value, variable.numpy):
            same(read(), np.float32(wanted))
    merged = strategy.run(lambda: ctx().merge_call(lambda strategy: float(variable.value())))
    assert merged == wanted
    for read in (variable.value, variable.read_value, variable.numpy):
        assert [float(one) for one in strategy.run(read).values] == [1, 2]


@pytest.mark.parametrize(("aggregation", "aggregate"), [(SUM, 3), (MEAN, 1.5), (FIRST, 1)])
@pytest.mark.parametrize(
    ("profile", "first"),
    [
        (Semantics.TF1_13, ("value", "read_value", "numpy")),
        (Semantics.TF1_15, ("value", "numpy")),
        (Semantics.TF2, ()),
    ],
    ids=lambda value: value.name if isinstance(value, Semantics) else "",
)
def test_outside_every_scope_the_profile_says_whether_components_are_aggregated(
    mirrored, profile, first, aggregation, aggregate
):
    variable = with_components_1_and_2(mirrored(2, semantics=profile), ON_READ, aggregation)
    for method in ("value", "read_value", "numpy"):
        warned = first and method == "value" and aggregation is not FIRST  # once for the line
        with pytest.warns(OneReplicasShare) if warned else nullcontext():
            assert float(getattr(variable, method)()) == (1 if method in first else aggregate), method


# Clauses: U-4
def test_a_read_of_one_replicas_share_warns_once_for_each_line_and_variable_and_states_what_to_do(mirrored):
    one, other = (with_components_1_and_2(mirrored(2), ON_READ, SUM) for _ in range(2))

    def read():
        for variable in (one, one, other):
            variable.numpy()
        one.numpy()
        return line_here() - 2

    with pytest.warns(OneReplicasShare) as warned:
        line = read()
    assert {each.filename for each in warned} == {__file__}
    assert [each.lineno for each in warned] == [line, line, line + 1]
    assert str(warned[0].message) == (
        f"numpy of the ON_READ variable 'w' at test_variables.py:{line}, outside of a scope, gives replica 0's "
        f"component alone in this profile, as TensorFlow 1.x does. Read it inside `with strategy.scope():` for the "
        f"aggregate of all replicas."
    )


# Clauses: U-4
def test_no_share_is_read_of_one_replica_in_a_scope_or_without_checks(mirrored):
    alone = variable_in(mirrored(1), synchronization=ON_READ, aggregation=SUM)
    unchecked = with_components_1_and_2(mirrored(2, checks=False), ON_READ, SUM)
    scoped = mirrored(2)
    summed = with_components_1_and_2(scoped, ON_READ, SUM)
    with scoped.scope():
        assert float(summed.value()) == 3
    assert float(alone.value()) == 1
    assert float(unchecked.value()) == 1


# Clauses: U-4
def test_an_on_read_variable_without_an_aggregation_has_no_value_across_replicas(mirrored):
    strategy = mirrored(2)
    variable = variable_in(strategy, synchronization=ON_READ, name="w")
    for read in (variable.value, variable.read_value, variable.numpy):
        with strategy.scope(), pytest.raises(InvalidArgument, match=r"Could not convert .* \(test_variables.py:\d+\)"):
            read()
    assert float(variable.value()) == 1
    with pytest.raises(InvalidArgument, match="Could not convert"):
        variable_in(mirrored(2, semantics=Semantics.TF2), synchronization=ON_READ).value()


def test_an_on_read_variable_without_an_aggregation_was_summed_in_tf1_13(mirrored):
    strategy = mirrored(2, semantics=Semantics.TF1_13)
    variable = with_components_1_and_2(strategy, ON_READ, NONE)
    with strategy.scope():
        assert float(variable.value()) == 3
    assert float(variable.read_value()) == 1


# Clauses: U-5
@pytest.mark.parametrize("kind", ["assign_add", "assign_sub"])
@pytest.mark.parametrize("count", [1, 2])
def test_a_total_cannot_be_added_to_an_on_read_sum(mirrored, kind, count):
    variable = variable_in(mirrored(count), synchronization=ON_READ, aggregation=SUM)
    with pytest.raises(InvalidArgument, match=f"does not support `{kind}` in a cross-replica context"):
        write(variable, kind, 6.0)
    assert components(variable) == [1] * count


# Clauses: U-5
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
    variable = variable_in(mirrored(count, semantics=profile), 0, dtype=dtype, synchronization=ON_READ, aggregation=SUM)
    variable.assign(np.asarray(total, dtype))
    assert components(variable) == [share] * count
    assert {str(one.dtype) for one in variable.components} == {dtype}


def test_a_total_of_integers_cannot_be_shared_out_before_tf2(mirrored):
    for profile in (Semantics.TF1_13, Semantics.TF1_15):
        strategy = mirrored(2, semantics=profile)
        variable = variable_in(strategy, 1, dtype="int32", synchronization=ON_READ, aggregation=SUM)
        with strategy.scope(), pytest.raises(InvalidArgument) as raised:
            write(variable, "assign", np.int32(7))
        assert str(raised.value) == (
            f"assign of the ON_READ variable 'Variable_0' at test_variables.py:{WRITE_LINE}: int32 cannot be shared "
            f"out by multiplication. Use a floating dtype, or Semantics.TF2."
        )
        assert components(variable) == [1, 1]


@pytest.mark.parametrize("aggregation", [NONE, SUM, MEAN, FIRST])
@pytest.mark.parametrize("kind", KINDS)
def test_an_on_read_variable_takes_one_value_not_one_per_replica(mirrored, aggregation, kind):
    variable = variable_in(mirrored(2), synchronization=ON_READ, aggregation=aggregation, name="w")
    values = ss.PerReplica([np.float32(1), np.float32(2)])
    if aggregation is SUM and kind != "assign":
        with pytest.raises(InvalidArgument, match=f"does not support `{kind}`"):
            write(variable, kind, values)
        return
    with pytest.raises(InvalidType) as raised:
        write(variable, kind, values)
    assert str(raised.value) == (
        f"{kind} of variable 'w' at test_variables.py:{WRITE_LINE} takes one value and got a PerReplica: each "
        f"replica writes its component. Reduce it first, or {kind} inside a replica function."
    )
    assert components(variable) == [1, 1]
    write(variable, "assign", ss.Mirrored([np.float32(6), np.float32(6)]))
    assert components(variable) == ([3, 3] if aggregation is SUM else [6, 6])


# Clauses: U-3
@pytest.mark.parametrize("kind", KINDS)
def test_one_object_given_by_all_replicas_cannot_be_summed(mirrored, kind):
    strategy = mirrored(2)
    variable = variable_in(strategy, aggregation=SUM)
    shared = np.float32(5)
    for value in (5.0, shared, strategy.xp.asarray(0.0), -1):
        with pytest.raises(
            InvalidArgument, match=r"A non-DistributedValues value .* cannot be reduced with ReduceOp.SUM"
        ):
            strategy.run(lambda value=value: write(variable, kind, value))
    assert components(variable) == [1, 1]


# Clauses: U-3
@pytest.mark.parametrize(("kind", "wanted"), [("assign", 0), ("assign_add", 1), ("assign_sub", 1)])
@pytest.mark.parametrize("zero", [0, 0.0, np.float32(0)], ids=repr)
def test_zero_given_by_all_replicas_is_its_own_sum(mirrored, kind, wanted, zero):
    strategy = mirrored(2)
    variable = variable_in(strategy, aggregation=SUM)
    strategy.run(lambda: write(variable, kind, zero))
    assert components(variable) == [wanted, wanted]


# Clauses: U-3
@pytest.mark.parametrize(("kind", "wanted"), [("assign", 5), ("assign_add", 6), ("assign_sub", -4)])
@pytest.mark.parametrize("aggregation", [MEAN, FIRST])
def test_one_object_given_by_all_replicas_is_its_own_mean(mirrored, kind, wanted, aggregation):
    strategy = mirrored(2)
    variable = variable_in(strategy, aggregation=aggregation)
    strategy.run(lambda: write(variable, kind, 5.0))
    assert components(variable) == [wanted, wanted]


def test_one_replica_may_give_any_object(mirrored):
    strategy = mirrored(1)
    variable = variable_in(strategy, aggregation=SUM)
    strategy.run(lambda: variable.assign_add(5.0))
    assert components(variable) == [6]


# Clauses: U-7
def test_the_mean_of_integer_writes_is_refused_in_every_profile_and_nothing_is_written(mirrored):
    strategy = mirrored(2)
    variable = variable_in(strategy, np.int32(1), aggregation=MEAN)
    for kind in KINDS:
        with pytest.raises(InvalidArgument, match=f"{kind} of variable .* the mean of int32 is float64"):
            strategy.run(lambda kind=kind: write(variable, kind, np.int32(rank() + 1)))
    assert components(variable) == [1, 1]
    strategy.run(lambda: variable.assign(5))
    assert components(variable) == [5, 5]
    assert variable.components[0].dtype == np.int32
    with pytest.raises(InvalidArgument, match="aggregation MEAN needs a floating dtype, and it is int32"):
        variable_in(mirrored(2, semantics=Semantics.TF2), np.int32(1), aggregation=MEAN)


def test_what_was_read_does_not_change_with_a_later_write(mirrored):
    strategy = mirrored(2)
    variable = variable_in(strategy, np.float32([1, 2]), aggregation=SUM)

    def replica():
        before = variable.value()
        variable.assign_add(np.ones(2, np.float32) * (rank() + 1))
        return before.tolist(), variable.value().tolist()

    before, after = strategy.run(replica)
    assert [one.values for one in before] == [(1, 1), (2, 2)]
    assert [one.values for one in after] == [(4, 4), (5, 5)]


def test_a_written_array_may_be_changed_afterwards_by_its_maker(mirrored):
    strategy = mirrored(2)
    variable = variable_in(strategy, np.float32([1, 2]), synchronization=ON_READ)

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


# Clauses: U-6
@pytest.mark.parametrize(
    ("value", "found"),
    [(np.float32([1]), r"float32\[1\]"), (np.float64(1), r"float64\[\]"), (np.ones((2, 2)), r"float64\[2, 2\]")],
)
@pytest.mark.parametrize("kind", KINDS)
def test_a_value_of_another_form_is_refused_in_and_outside_replicas(mirrored, kind, value, found):
    strategy = mirrored(2)
    variable = variable_in(strategy, aggregation=SUM, name="w")
    text = rf"{kind} of variable 'w' \(test_variables.py:\d+, replica 0\) got {found}, and the variable is float32\[\]"
    with pytest.raises(InvalidArgument, match=text):
        write(variable, kind, value)
    with pytest.raises(InvalidArgument, match=text):
        strategy.run(lambda: write(variable, kind, value))
    assert components(variable) == [1, 1]


def test_variables_are_kept_in_creation_order_with_names(mirrored):
    strategy = mirrored(2)
    variables = [variable_in(strategy), variable_in(strategy, name="w"), variable_in(strategy)]
    assert group_of(strategy).variables.created == variables
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
    variable = variable_in(mirrored(2), value, dtype=dtype)
    assert variable.dtype == wanted
    assert variable.shape == shape
    assert all(str(one.dtype) == wanted and one.shape == shape for one in variable.components)


def test_a_variable_starts_with_a_copy_of_its_initial_value(mirrored):
    initial = np.float32([1, 2])
    variable = variable_in(mirrored(2), initial)
    initial[0] = 9
    assert components(variable) == [[1, 2], [1, 2]]


def test_trainable_is_off_by_default_for_what_is_synchronized_on_read(mirrored):
    strategy = mirrored(2)
    assert variable_in(strategy).trainable is True
    assert variable_in(strategy, synchronization=ON_READ).trainable is False
    assert variable_in(strategy, synchronization=ON_READ, trainable=True).trainable is True
    assert variable_in(strategy, trainable=False).trainable is False


def test_auto_is_on_write_and_none_is_no_aggregation(mirrored):
    variable = variable_in(mirrored(2), synchronization=VariableSynchronization.AUTO, aggregation=None)
    assert variable.synchronization is ON_WRITE
    assert variable.aggregation is NONE
    assert variable_in(mirrored(2), synchronization=None).synchronization is ON_WRITE


# Clauses: U-7
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
        variable_in(mirrored(2), name="w", **settings)


def test_a_variable_is_written_in_words(mirrored):
    text = repr(variable_in(mirrored(5), np.zeros((2, 3), np.float32), aggregation=SUM, name="w"))
    assert text == "<Variable 'w' float32[2, 3] ON_WRITE, aggregation SUM, on sim:0, sim:1, sim:2, sim:3, …>"


def test_native_is_this_replicas_storage(mirrored):
    strategy = mirrored(2)
    variable = variable_in(strategy)
    assert variable.native is strategy.run(lambda: variable.native).values[0]
    assert strategy.run(lambda: variable.native.read().placement).values == ("sim:0", "sim:1")


def test_writes_are_in_the_trace_with_name_op_and_form(mirrored):
    trace = ss.trace.Trace()
    strategy = mirrored(2, trace=trace)
    variable = variable_in(strategy, np.zeros(2, np.float32), aggregation=MEAN, name="w")
    strategy.run(lambda: variable.assign_add(np.ones(2, np.float32) * rank()))
    variable.assign(np.ones(2, np.float32))
    found = [(e.kind, e.replica, e.op, e.subject, e.shapes) for e in trace.events() if e.kind != "run"]
    assert found == [
        ("variable", None, "MEAN", "w ON_WRITE trainable", ((2,),)),
        ("assign_add", 0, "MEAN", "w", ((2,),)),
        ("assign_add", 1, "MEAN", "w", ((2,),)),
        ("assign", None, None, "w", ((2,),)),
    ]


# Messages, whole.


def test_reads_of_operands_are_traced_at_the_users_line(mirrored):
    trace = ss.trace.Trace()
    strategy = mirrored(2, trace=trace)
    source = variable_in(strategy, synchronization=ON_READ, aggregation=SUM)
    target = variable_in(strategy, synchronization=ON_READ, aggregation=MEAN)
    with strategy.scope():
        target.assign(source)
        ss.Variable(source)
    reads = [event.site for event in trace.events() if event.kind == "reduce"]
    line = line_here() - 2
    assert reads == [f"test_variables.py:{line - 1}", f"test_variables.py:{line}"]
