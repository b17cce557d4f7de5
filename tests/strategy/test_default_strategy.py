"""The default strategy, and what is set without a scope; copies and seeds.  Clauses: C-4, C-5, C-6, C-7."""

import copy
import threading

import numpy as np
import pytest

import simstrategy as ss
from simstrategy.errors import ContextError, InvalidArgument, InvalidType
from simstrategy.strategy import group_of


def where():
    """The row of the table: the current strategy, has_strategy, cross-replica, replica context."""
    return ss.get_strategy(), ss.has_strategy(), ss.in_cross_replica_context(), ss.get_replica_context()


@pytest.fixture
def default():
    return ss.get_strategy()


def test_where_nothing_was_entered_the_default_strategy_and_its_one_replica_are_current(default):
    context = ss.get_replica_context()
    assert where() == (default, False, False, context)
    assert (context.replica_id_in_sync_group, context.num_replicas_in_sync, context.strategy) == (0, 1, default)
    assert default.num_replicas_in_sync == 1
    assert ss.get_strategy() is default


def test_the_default_scope_changes_nothing_and_lets_another_be_entered(default, mirrored):
    strategy = mirrored(2)
    with default.scope() as entered, default.scope():
        assert entered is default
        assert where()[:3] == (default, False, False)
        with strategy.scope():
            assert where() == (strategy, True, True, None)
        assert where()[:3] == (default, False, False)
    with strategy.scope(), pytest.raises(ContextError, match="Mixing different strategies: scope of"):
        default.scope().__enter__()


def test_default_run_and_merge_call_are_calls_in_the_tables_contexts(default):
    assert default.run(where)[:3] == (default, False, False)
    context = ss.get_replica_context()
    merged = context.merge_call(lambda strategy, number: (strategy, number, where()), args=(3,))
    assert merged == (default, 3, (default, False, True, None))
    inner = default.run(lambda: ss.get_replica_context().merge_call(lambda strategy: where()))
    assert inner == (default, False, True, None)
    with pytest.raises(ContextError, match="requires being in cross-replica context: run was called inside replica 0"):
        default.run(lambda: default.run(where))


@pytest.mark.parametrize(
    "value", [np.ones(2, np.float32), 3, "text", object(), [1, {"a": 2.5}]], ids=lambda one: type(one).__name__
)
def test_default_collectives_return_the_very_value(default, value):
    context = ss.get_replica_context()
    assert context.all_reduce("SUM", value) is value
    assert context.all_gather(value, 0) is value
    inside = default.run(lambda: [ss.get_replica_context().all_reduce("MEAN", value) is value])
    assert inside == [True]
    assert default.experimental_local_results(value)[0] is value


def test_default_collectives_still_refuse_what_is_no_reduction(default):
    with pytest.raises(InvalidArgument, match="MAX"):
        ss.get_replica_context().all_reduce("MAX", 3.0)


def test_default_reduce_with_an_axis_reduces(default):
    assert default.reduce("SUM", np.array([1, 2]), axis=0) == 3
    mean = default.reduce("MEAN", np.array([1, 2]), axis=0)
    assert (float(mean), mean.dtype.name) == (1.5, "float64")


def test_the_default_context_is_stale_once_a_strategy_is_entered(mirrored):
    context = ss.get_replica_context()
    with mirrored(2).scope(), pytest.raises(ContextError, match="Need to be inside the replica function"):
        context.all_reduce("SUM", 1.0)


def test_the_default_strategy_has_no_worker_devices_and_no_copies(default):
    with pytest.raises(ContextError, match="worker_devices is unsupported by the default strategy"):
        _ = default.extended.worker_devices
    with pytest.raises(ContextError, match="The default strategy is one, and cannot be copied"):
        copy.deepcopy(default)


def test_a_set_strategy_is_current_until_none_is_set(default, mirrored):
    strategy, other = mirrored(2), mirrored(1)
    ss.experimental_set_strategy(strategy)
    try:
        assert where() == (strategy, True, True, None)
        with strategy.scope():
            assert where() == (strategy, True, True, None)
        with pytest.raises(ContextError, match="Mixing different strategies"):
            other.scope().__enter__()
        assert strategy.run(where)[:3] == (strategy, True, False)
        ss.experimental_set_strategy(other)
        assert ss.get_strategy() is other
    finally:
        ss.experimental_set_strategy(None)
    assert where()[:3] == (default, False, False)


def test_setting_a_strategy_inside_one_or_setting_no_strategy_is_refused(mirrored):
    strategy = mirrored(2)
    with strategy.scope(), pytest.raises(ContextError, match="Must not be called inside a strategy's scope"):
        ss.experimental_set_strategy(None)
    with pytest.raises(ContextError, match="Must not be called inside a strategy's scope"):
        strategy.run(lambda: ss.experimental_set_strategy(strategy))
    with pytest.raises(InvalidType, match="takes a Strategy or None, got 'sim'"):
        ss.experimental_set_strategy("sim")
    assert not ss.has_strategy()


def test_a_set_strategy_is_this_threads_alone(mirrored):
    seen = []
    ss.experimental_set_strategy(mirrored(1))
    try:
        other = threading.Thread(target=lambda: seen.append(ss.has_strategy()))
        other.start()
        other.join()
    finally:
        ss.experimental_set_strategy(None)
    assert seen == [False]


def test_a_scope_left_out_of_order_says_so_and_stays_usable(mirrored):
    strategy = mirrored(2)
    outer, inner = strategy.scope(), strategy.scope()
    outer.__enter__()
    inner.__enter__()
    with pytest.raises(ContextError, match=r"Scope nesting error: the scope of .* was left while .* is current"):
        outer.__exit__(None, None, None)
    inner.__exit__(None, None, None)
    outer.__exit__(None, None, None)
    assert not ss.has_strategy()
    with pytest.raises(ContextError, match="was left and not entered"):
        outer.__exit__(None, None, None)


def test_a_flat_copy_is_refused_and_a_deep_one_is_a_strategy_of_its_own(mirrored):
    strategy = mirrored(3)
    with pytest.raises(ContextError, match="must only deepcopy"):
        copy.copy(strategy)
    with strategy.scope():
        ss.Variable(1.0)
    twin = copy.deepcopy(strategy)
    assert twin is not strategy
    assert twin.num_replicas_in_sync == 3
    assert group_of(twin).variables.created == []
    with strategy.scope(), pytest.raises(ContextError, match="Mixing different strategies"):
        twin.run(where)
    assert twin.reduce("SUM", twin.run(lambda: ss.get_replica_context().replica_id_in_sync_group)) == 3


def test_seeds_are_the_same_on_every_run_and_differ_by_label_replica_count_and_seed():
    def drawn(seed):
        strategy = ss.Strategy.mirrored("sim", replicas=2, seed=seed, schedule=ss.schedules.Seeded(seed))

        def replica():
            context = ss.get_replica_context()
            return [context.seed("dropout"), context.seed("dropout"), context.seed("noise")]

        return [one for values in strategy.run(replica) for one in values.values]

    assert drawn(0) == drawn(0)
    everything = drawn(0) + drawn(1)
    assert len({*everything}) == 12
    assert all(0 <= one < 2**64 for one in everything)
    assert drawn(0)[0] == 12995183463595033382
