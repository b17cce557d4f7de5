"""Variables outside their own replicas: in other strategies, in updates, as values of others; what writes return."""

import numpy as np
import pytest
from vocabulary import FIRST, KINDS, MEAN, NONE, ON_READ, ON_WRITE, SUM, components, ctx, line_here, rank, variable_in

import simstrategy as ss
from simstrategy import Semantics
from simstrategy.errors import ContextError, InvalidArgument, InvalidType, MirroredDiverged
from simstrategy.strategy import group_of


def on_read(strategy, aggregation, **settings):
    """Returns an ON_READ variable of components 1 and 2."""
    variable = variable_in(strategy, synchronization=ON_READ, aggregation=aggregation, **settings)
    strategy.run(lambda: variable.assign(np.float32(rank() + 1)))
    return variable


def diverged(strategy, **settings):
    """Returns an ON_WRITE variable of components 1 and 2."""
    variable = variable_in(strategy, **settings)
    with pytest.warns(MirroredDiverged):
        variable.assign(ss.PerReplica([np.float32(1), np.float32(2)]))
    return variable


# Variables of no strategy, in strategies.


# Clauses: U-8
def test_a_variable_of_no_strategy_is_read_on_every_replicas_device(mirrored, executor):
    variable = ss.Variable(np.float32([1, 2]))
    strategy = mirrored(3, executor=executor)

    for read in (variable.value, variable.read_value, variable.numpy):
        assert [one.tolist() for one in strategy.run(read).values] == [[1, 2]] * 3
    places = strategy.run(lambda: variable.value().placement)
    assert places.values == ("sim:0", "sim:1", "sim:2")
    assert variable.native is strategy.run(lambda: variable.native)


# Clauses: U-8
@pytest.mark.parametrize(("kind", "wanted"), [("assign", 2), ("assign_add", 4), ("assign_sub", -2)])
def test_replicas_write_a_variable_of_no_strategy_one_after_the_other(mirrored, executor, kind, wanted):
    variable = ss.Variable(1.0, aggregation=SUM)
    strategy = mirrored(2, executor=executor)
    strategy.run(lambda: getattr(variable, kind)(np.float32(rank() + 1)))
    assert components(variable) == [wanted]


def test_a_variable_of_no_strategy_is_written_in_scopes_and_by_several_strategies(mirrored):
    variable = ss.Variable(1.0)
    one, other = mirrored(2), mirrored(3)
    with one.scope():
        assert float(variable.assign_add(1.0)) == 2
        assert float(variable.value()) == 2
    other.run(lambda: variable.assign_add(1.0))
    ss.Strategy.central_storage("sim", replicas=2).run(lambda: variable.assign_add(1.0, read_value=False))
    assert float(variable.value()) == 7
    assert group_of(one).variables.created == group_of(other).variables.created == []


def test_a_write_of_another_form_to_a_variable_of_no_strategy_is_refused(mirrored):
    variable = ss.Variable(1.0, name="w")
    with pytest.raises(InvalidArgument, match=r"assign of variable 'w' .* got float32\[1\], and the variable is"):
        mirrored(2).run(lambda: variable.assign(np.ones(1, np.float32)))
    assert components(variable) == [1]


def test_a_variable_of_one_device_is_read_and_written_anywhere(mirrored):
    variable = variable_in(ss.Strategy.one_device("sim"))
    strategy = mirrored(2)
    strategy.run(lambda: variable.assign_add(1.0))
    with strategy.scope():
        variable.assign_add(1.0)
    assert [float(one) for one in strategy.run(variable.value).values] == [4, 4]


# Variables of one strategy, in another.


# Clauses: U-10
@pytest.mark.parametrize("kind", KINDS)
def test_another_strategys_variable_is_not_written(mirrored, kind):
    one, other = mirrored(2), mirrored(3)
    for settings in ({}, {"synchronization": ON_READ}, {"aggregation": SUM}):
        variable = variable_in(one, name="w", **settings)
        for run in (other.run, lambda call: other.run(lambda: ctx().merge_call(lambda _: call()))):
            with pytest.raises(ContextError, match=f"Mixing different strategies: {kind} on variable 'w' of <Strategy"):
                run(lambda variable=variable: getattr(variable, kind)(2.0))
        assert components(variable) == [1, 1]
    central = variable_in(ss.Strategy.central_storage("sim", replicas=2), name="w")
    with other.scope(), pytest.raises(ContextError, match=rf"{kind} on .* \(test_variables_elsewhere.py:\d+\)\. Leave"):
        getattr(central, kind)(1.0)


# Clauses: U-10
def test_another_strategys_mirrored_variable_is_its_first_component_on_the_readers_device(mirrored):
    one, other = mirrored(2), mirrored(3)
    central = variable_in(ss.Strategy.central_storage("sim", replicas=2), 1.0)
    for variable in (diverged(one), central):
        with other.scope():
            assert [float(read()) for read in (variable.value, variable.read_value, variable.numpy)] == [1, 1, 1]
        assert other.run(lambda variable=variable: variable.value().placement).values == ("sim:0", "sim:1", "sim:2")
        assert [float(seen) for seen in other.run(variable.read_value).values] == [1, 1, 1]


# Clauses: U-10
@pytest.mark.parametrize("aggregation", [NONE, SUM, MEAN, FIRST])
@pytest.mark.parametrize("method", ["value", "read_value", "numpy"])
def test_another_strategys_on_read_variable_is_not_read(mirrored, aggregation, method):
    one, other = mirrored(2), mirrored(2)
    variable = on_read(one, aggregation, name="w")
    with other.scope(), pytest.raises(ContextError, match=f"Mixing different strategies: {method} on variable 'w'"):
        getattr(variable, method)()
    with pytest.raises(ContextError, match=f"Mixing different strategies: {method} on variable 'w'"):
        other.run(getattr(variable, method))


def test_under_the_default_strategy_a_variable_is_as_where_none_is_current(mirrored):
    strategy = mirrored(2)
    variable = variable_in(strategy, aggregation=SUM)
    assert type(ss.get_strategy().run(lambda: variable.assign(9.0))) is ss.Mirrored
    assert float(ss.get_strategy().run(variable.value)) == 9
    assert components(variable) == [9, 9]


def test_writing_where_no_strategy_was_entered_is_refused_in_tf1_13(mirrored):
    strategy = mirrored(2, semantics=Semantics.TF1_13)
    for settings in ({}, {"synchronization": ON_READ}):
        variable = variable_in(strategy, name="w", **settings)
        here = line_here() + 2
        with pytest.raises(ContextError) as raised:
            variable.assign(1.0)
        assert str(raised.value) == (
            'Need to be inside "with strategy.scope()" for '
            f"<Strategy on 'sim': 2 replicas, 2 here>: assign on variable 'w' at test_variables_elsewhere.py:{here}. "
            f"Enter the scope, or use Semantics.TF1_15 or TF2, which do not ask for it."
        )
    with strategy.scope():
        variable.assign(1.0)
    ss.Strategy.one_device("sim", semantics=Semantics.TF1_13).run(lambda: None)


# What a write returns.


# Clauses: U-12
def test_a_replicas_write_returns_what_the_replica_then_reads(mirrored, executor):
    for aggregation, wanted in ((SUM, [4, 4]), (MEAN, [2.5, 2.5]), (FIRST, [2, 2])):
        strategy = mirrored(2, executor=executor)
        variable = variable_in(strategy, aggregation=aggregation)
        returned = strategy.run(lambda variable=variable: variable.assign_add(np.float32(rank() + 1)))
        assert (type(returned), [float(one) for one in returned.values]) == (ss.PerReplica, wanted)
        assert [one.placement for one in returned.values] == ["sim:0", "sim:1"]
    local = variable_in(strategy, synchronization=ON_READ)
    assert [float(one) for one in strategy.run(lambda: local.assign_sub(np.float32(rank()))).values] == [1, 0]
    assert strategy.run(lambda: local.assign(2.0, read_value=False)) is None


# Clauses: U-12
@pytest.mark.parametrize(("kind", "wanted"), [("assign", 6), ("assign_add", 7), ("assign_sub", -5)])
@pytest.mark.parametrize("aggregation", [NONE, SUM, MEAN, FIRST])
def test_a_write_across_replicas_returns_mirrored_components(mirrored, aggregation, kind, wanted):
    variable = variable_in(mirrored(2), aggregation=aggregation)
    returned = getattr(variable, kind)(6.0)
    assert (type(returned), [float(one) for one in returned.values]) == (ss.Mirrored, [wanted, wanted])
    assert getattr(variable, kind)(6.0, read_value=False) is None


# Clauses: U-12
@pytest.mark.parametrize(("aggregation", "wanted"), [(NONE, None), (SUM, 6), (MEAN, 6), (FIRST, 6)])
def test_a_write_to_an_on_read_variable_returns_its_value_in_tf2_alone(mirrored, aggregation, wanted):
    for profile in (Semantics.TF1_13, Semantics.TF1_15, Semantics.TF2):
        strategy = mirrored(2, semantics=profile)
        variable = variable_in(strategy, synchronization=ON_READ, aggregation=aggregation)
        with strategy.scope():
            returned = variable.assign(6.0)
        assert returned == (wanted if profile is Semantics.TF2 else None)
        with strategy.scope():
            assert variable.assign(6.0, read_value=False) is None


# Variables as values.


# Clauses: U-13
@pytest.mark.parametrize(
    ("target", "source", "wanted"),
    [
        (ON_WRITE, "mirrored", [1, 2]),
        (ON_READ, "mirrored", [1, 2]),
        (ON_WRITE, SUM, [1, 2]),
        (ON_WRITE, NONE, [1, 2]),
        (ON_READ, SUM, [3, 3]),
        (ON_READ, MEAN, [1.5, 1.5]),
        (ON_READ, FIRST, [1, 1]),
        (ON_WRITE, "plain", [7, 7]),
        (ON_READ, "plain", [7, 7]),
    ],
)
def test_across_replicas_a_variable_gives_its_components_or_its_aggregate(mirrored, target, source, wanted):
    strategy = mirrored(2, semantics=Semantics.TF2)
    variable = variable_in(strategy, synchronization=target, aggregation=MEAN)
    if source == "plain":
        given = ss.Variable(7.0)
    else:
        given = diverged(strategy) if source == "mirrored" else on_read(strategy, source)
    with strategy.scope():
        if target is ON_WRITE and wanted == [1, 2]:
            with pytest.warns(MirroredDiverged):
                variable.assign(given)
        else:
            variable.assign(given)
    assert components(variable) == wanted


def test_a_total_may_be_given_as_a_variable(mirrored):
    strategy = mirrored(2)
    total = variable_in(strategy, synchronization=ON_READ, aggregation=SUM)
    with strategy.scope():
        for given, wanted in ((variable_in(strategy, 8.0), 4), (on_read(strategy, SUM), 1.5), (ss.Variable(2.0), 1)):
            total.assign(given)
            assert components(total) == [wanted, wanted]
        with pytest.raises(InvalidArgument, match="Could not convert"):
            total.assign(on_read_none(strategy))


def on_read_none(strategy):
    return ss.Variable(1.0, synchronization=ON_READ)


# Clauses: U-13
@pytest.mark.parametrize(
    ("source", "aggregation", "wanted"),
    [
        ("mirrored", SUM, None),
        ("mirrored", MEAN, [1, 2]),
        ("mirrored", FIRST, [1, 1]),
        ("on read", SUM, [3, 3]),
        ("on read", MEAN, [1.5, 1.5]),
        ("on read", FIRST, [1, 1]),
        ("plain", SUM, None),
        ("plain", MEAN, [7, 7]),
        ("plain", FIRST, [7, 7]),
    ],
)
def test_in_replicas_a_variable_gives_each_replicas_component(mirrored, source, aggregation, wanted):
    strategy = mirrored(2)
    variable = variable_in(strategy, aggregation=aggregation)
    if source == "plain":
        given = ss.Variable(7.0)
    else:
        given = diverged(strategy) if source == "mirrored" else on_read(strategy, NONE)
    if wanted is None:
        with pytest.raises(InvalidArgument, match="A non-DistributedValues value <Variable"):
            strategy.run(lambda: variable.assign(given))
        wanted = [1, 1]
    else:
        strategy.run(lambda: variable.assign(given))
    assert components(variable) == wanted
    local = variable_in(strategy, synchronization=ON_READ)
    strategy.run(lambda: local.assign(given))
    assert components(local) == ([7, 7] if source == "plain" else [1, 2])


def test_a_captured_per_replica_value_is_each_replicas_own_in_tf2(mirrored):
    strategy = mirrored(2, semantics=Semantics.TF2)
    variable, local = variable_in(strategy, aggregation=SUM), variable_in(strategy, synchronization=ON_READ)
    captured = strategy.run(lambda: np.float32(rank() + 1))
    strategy.run(lambda: variable.assign(captured))
    strategy.run(lambda: local.assign(captured))
    assert (components(variable), components(local)) == ([3, 3], [1, 2])
    older = mirrored(2)
    old = variable_in(older, aggregation=SUM)
    with pytest.raises(InvalidType, match="It looks like you are using a PerReplica object"):
        older.run(lambda: old.assign(captured))


def test_a_captured_mirrored_value_is_one_value(mirrored):
    strategy = mirrored(2)
    source, summed, mean = (
        variable_in(strategy),
        variable_in(strategy, aggregation=SUM),
        variable_in(strategy, aggregation=MEAN),
    )
    captured = source.assign(5.0)
    strategy.run(lambda: mean.assign(captured))
    assert components(mean) == [5, 5]
    with pytest.raises(InvalidArgument, match="A non-DistributedValues value float32"):
        strategy.run(lambda: summed.assign(captured))


def test_a_variable_begins_with_another_ones_value(mirrored):
    strategy, other = mirrored(2), mirrored(3)
    source = on_read(strategy, SUM)
    with strategy.scope():
        assert components(ss.Variable(source)) == [3, 3]
    assert components(variable_in(other, variable_in(strategy, 4.0))) == [4, 4, 4]
    assert components(strategy.run(lambda: ss.Variable(source))) == [1, 1]
    assert components(ss.Variable(variable_in(strategy, 4.0))) == [4]


# In the function of an update.


def test_the_container_in_an_update_is_the_component_that_is_updated(mirrored):
    strategy = mirrored(2, semantics=Semantics.TF2)
    variable, local = variable_in(strategy, aggregation=SUM), on_read(strategy, SUM)
    with strategy.scope():
        for one, wanted in ((variable, [2, 2]), (local, [2, 3])):
            seen = strategy.extended.update(one, lambda _, one=one: one.assign_add(1.0))
            assert [float(value) for value in strategy.experimental_local_results(seen)] == wanted
            assert components(one) == wanted
            seen = strategy.extended.update(one, lambda _, one=one: one.value())
            assert [float(value) for value in strategy.experimental_local_results(seen)] == wanted
