"""Which strategy and replica are current where, and what is refused in the wrong place."""

import threading

import pytest
from threads import at_once
from vocabulary import ctx

import simstrategy as ss
from simstrategy.errors import ContextError, InvalidArgument
from simstrategy.strategy import group_of
from simstrategy.strategy.compiling import CompiledStep
from simstrategy.strategy.running import Runner


def where():
    """The row of the table: strategy, has_strategy, cross-replica, replica context."""
    strategy = ss.get_strategy() if ss.has_strategy() else None
    replica = ss.get_replica_context() if ss.has_strategy() else None
    return strategy, ss.has_strategy(), ss.in_cross_replica_context(), replica


# Clauses: C-1
@pytest.mark.parametrize("count", [1, 2])
def test_the_table_of_contexts(mirrored, executor, count):
    strategy = mirrored(count, executor=executor)
    seen = {}

    def merge(merged):
        seen["merge"] = where()
        assert merged is strategy

    def replica():
        context = ctx()
        if context.replica_id_in_sync_group == count - 1:
            seen["replica"] = (*where()[:3], context is where()[3])
        context.merge_call(merge)
        assert ctx() is context
        assert (context.replica_id_in_sync_group, context.num_replicas_in_sync) in [(i, count) for i in range(count)]
        assert context.strategy is strategy
        assert context.devices == (f"sim:{context.replica_id_in_sync_group}",)

    with strategy.scope() as entered:
        assert entered is strategy
        seen["scope"] = where()
    strategy.run(replica)
    assert seen["scope"] == (strategy, True, True, None)
    assert seen["replica"] == (strategy, True, False, True)
    assert seen["merge"] == (strategy, True, True, None)
    assert where() == (None, False, False, None)


def test_scopes_of_one_strategy_nest_and_of_two_do_not(mirrored):
    one, other = mirrored(2), mirrored(2)
    with one.scope():
        with one.scope():
            assert ss.get_strategy() is one
        assert ss.get_strategy() is one
        with pytest.raises(ContextError, match=r"Mixing different strategies: scope of .* while .* is current"):
            other.scope().__enter__()
        assert ss.get_strategy() is one
    assert not ss.has_strategy()


def test_one_scope_object_may_be_entered_twice(mirrored):
    scope = mirrored(1).scope()
    with scope, scope:
        assert ss.has_strategy()
    assert not ss.has_strategy()


def test_an_exception_leaves_no_scope_behind(mirrored):
    with pytest.raises(KeyError), mirrored(2).scope():
        raise KeyError
    assert not ss.has_strategy()
    with pytest.raises(KeyError):
        mirrored(2).run(lambda: {}["missing"])
    assert not ss.has_strategy()


def enter_and_leave(strategy):
    with strategy.scope() as entered:
        assert entered is ss.get_strategy() is strategy


CROSS_REPLICA = {
    "scope": enter_and_leave,
    "run": lambda s: s.run(lambda: 0),
    "experimental_run_v2": lambda s: s.experimental_run_v2(lambda: 0),
    "reduce": lambda s: s.reduce("SUM", 1.0),
    "distribute": lambda s: s.experimental_distribute_dataset([]),
    "call_for_each_replica": lambda s: s.extended.call_for_each_replica(lambda: 0),
}


# Clauses: C-2
@pytest.mark.parametrize("call", CROSS_REPLICA.values(), ids=CROSS_REPLICA)
@pytest.mark.parametrize("count", [1, 2])
def test_cross_replica_methods_are_refused_inside_a_replica(mirrored, call, count):
    strategy = mirrored(count)
    with pytest.raises(ContextError, match=r"requires being in cross-replica context: .* inside replica 0.*merge_call"):
        strategy.run(lambda: call(strategy))


# Clauses: C-2
@pytest.mark.parametrize("call", CROSS_REPLICA.values(), ids=CROSS_REPLICA)
def test_methods_of_another_strategy_are_refused_in_scope_and_replica(mirrored, call):
    one, other = mirrored(2), mirrored(2)
    with one.scope(), pytest.raises(ContextError, match="Mixing different strategies"):
        call(other)
    with pytest.raises(ContextError, match="Mixing different strategies"):
        one.run(lambda: call(other))


@pytest.mark.parametrize("call", CROSS_REPLICA.values(), ids=CROSS_REPLICA)
def test_cross_replica_methods_are_allowed_outside_in_scope_and_in_merge_functions(mirrored, call):
    strategy = mirrored(1)
    strategy.run(lambda: ctx().merge_call(call))
    assert not ss.has_strategy()
    call(strategy)
    assert not ss.has_strategy()
    with strategy.scope():
        call(strategy)
        assert ss.get_strategy() is strategy


REPLICA = {
    "all_reduce": lambda c: c.all_reduce("SUM", 1.0),
    "all_gather": lambda c: c.all_gather([1.0], 0),
    "merge_call": lambda c: c.merge_call(lambda strategy: 0),
}


# Clauses: C-3
@pytest.mark.parametrize("call", REPLICA.values(), ids=REPLICA)
def test_a_stale_context_is_told_from_a_wrong_one(mirrored, call):
    strategy, other = mirrored(2), mirrored(2)
    kept = []
    strategy.run(lambda: kept.append(ctx()))
    with pytest.raises(ContextError, match=r"Need to be inside the replica function: .* of replica 0"):
        call(kept[0])
    with strategy.scope(), pytest.raises(ContextError, match="Need to be inside the replica function"):
        call(kept[1])
    with pytest.raises(ContextError, match=r"Mismatching ReplicaContext: .* of replica 1 inside replica 0"):
        strategy.run(lambda: call(kept[1]))
    with pytest.raises(ContextError, match="Mismatching strategies"):
        other.run(lambda: call(kept[0]))


@pytest.mark.parametrize("call", REPLICA.values(), ids=REPLICA)
def test_the_context_of_an_earlier_run_of_the_same_replica_is_stale_too(mirrored, call):
    strategy = mirrored(2)
    kept = {}

    def first():
        kept[ctx().replica_id_in_sync_group] = ctx()

    strategy.run(first)
    with pytest.raises(ContextError, match="Mismatching ReplicaContext"):
        strategy.run(lambda: call(kept[ctx().replica_id_in_sync_group]))


def test_a_context_may_not_be_used_in_the_merge_function_it_called(mirrored):
    def replica():
        context = ctx()
        context.merge_call(lambda strategy: context.all_reduce("SUM", 1.0))

    with pytest.raises(ContextError, match="Need to be inside the replica function"):
        mirrored(1).run(replica)


def test_a_scope_is_not_visible_in_other_threads(mirrored):
    seen = []
    with mirrored(2).scope():
        thread = threading.Thread(target=lambda: seen.append(where()))
        thread.start()
        thread.join()
    assert seen == [(None, False, False, None)]


# Clauses: M-6
def test_run_in_a_merge_function_runs_a_second_set_of_replicas(mirrored, executor):
    def replica():
        return ctx().merge_call(lambda strategy: strategy.run(lambda: 10 + ctx().replica_id_in_sync_group))

    assert mirrored(2, executor=executor).run(replica).values == (10, 11)


@pytest.mark.parametrize("args", [None, 5, "ab", {"a": 1}, {1}])
def test_positional_arguments_are_a_list_or_a_tuple(mirrored, args):
    with pytest.raises(InvalidArgument, match="positional args must be a list or tuple, got"):
        mirrored(2).run(lambda *rest: rest, args=args)


def test_a_strategy_is_told_by_its_backend_and_replicas(mirrored):
    assert repr(mirrored(3)) == "<Strategy on 'sim': 3 replicas, 3 here>"
    assert mirrored(3).num_replicas_in_sync == 3
    assert mirrored(3).extended.worker_devices == ("sim:0", "sim:1", "sim:2")


def test_two_strategies_in_one_process_do_not_know_each_other(mirrored):
    one, other = mirrored(2), mirrored(3)

    def merge(strategy):
        with pytest.raises(ContextError, match="Mixing different strategies"):
            other.run(lambda: 0)

    one.run(lambda: ctx().merge_call(merge))
    assert other.run(lambda: ctx().num_replicas_in_sync) == 3


@pytest.mark.slow
def test_one_strategy_may_be_used_from_several_threads_at_once(mirrored, executor):
    strategy = mirrored(3, executor=executor)

    def use(size):
        for _ in range(40):
            result = strategy.run(lambda: ctx().all_reduce("SUM", ctx().xp.ones(size)))
            assert [one.tolist() for one in result.values] == [[3.0] * size] * 3

    at_once(use, (1, 2, 3, 4))


def test_a_step_that_another_strategy_compiled_runs_on_the_replicas_of_the_one_that_runs_it(mirrored):
    compiling, running = mirrored(2), mirrored(3)
    step = CompiledStep(Runner(group_of(compiling)), None, lambda: ctx().num_replicas_in_sync)
    assert running.run(step) == 3
