"""One test or more for every clause of docs/semantics.md, through the public surface, on the simulator."""

import warnings

import numpy as np
import pytest

import simstrategy as ss
from simstrategy.strategy import group_of

SUM, MEAN = ss.ReduceOp.SUM, ss.ReduceOp.MEAN
Aggregation, Synchronization = ss.VariableAggregation, ss.VariableSynchronization


def mirrored(replicas=3, **options):
    return ss.Strategy.mirrored("sim", replicas=replicas, **options)


def me():
    return ss.get_replica_context()


def rank():
    return me().replica_id_in_sync_group


def host(strategy, value):
    return [np.asarray(one).tolist() for one in strategy.experimental_local_results(value)]


def variable(strategy, aggregation=Aggregation.NONE, synchronization=Synchronization.ON_WRITE, initial=1.0):
    with strategy.scope():
        return ss.Variable(np.float32(initial), aggregation=aggregation, synchronization=synchronization, name="v")


def components(v):
    return [float(one) for one in v.components]


# Clauses: C-1
def test_scope_and_merge_functions_are_cross_replica_and_replica_functions_are_not():
    strategy = mirrored()
    seen = []

    def look():
        seen.append((ss.has_strategy(), ss.in_cross_replica_context(), ss.has_strategy() and me() is None))

    look()
    with strategy.scope() as entered:
        assert entered is strategy is ss.get_strategy()
        look()
    strategy.run(look)
    strategy.run(lambda: me().merge_call(lambda _: look()))
    look()
    nobody, cross, replica = (False, False, False), (True, True, True), (True, False, False)
    assert seen == [nobody, cross, replica, replica, replica, cross, nobody]


# Clauses: C-2
@pytest.mark.parametrize(
    "call",
    [
        lambda strategy: strategy.scope().__enter__(),
        lambda strategy: strategy.run(lambda: None),
        lambda strategy: strategy.reduce(SUM, 1.0),
        lambda strategy: strategy.experimental_distribute_dataset([]),
    ],
)
def test_cross_replica_methods_are_refused_in_replicas_and_under_another_strategy(call):
    strategy, other = mirrored(), mirrored()
    with pytest.raises(ss.errors.ContextError, match="merge_call"):
        strategy.run(lambda: call(strategy))
    with other.scope(), pytest.raises(ss.errors.ContextError, match="Mixing different"):
        call(strategy)


# Clauses: C-3
def test_a_replica_context_works_in_its_own_replica_alone():
    strategy = mirrored()
    kept = []
    strategy.run(lambda: kept.append(me()))
    with pytest.raises(ss.errors.ContextError, match="Need to be inside"):
        kept[0].all_reduce(SUM, 1.0)

    def foreign():
        kept.append(me())
        return kept[3].all_reduce(SUM, 1.0)

    with pytest.raises(ss.errors.ContextError, match="Mismatching ReplicaContext"):
        strategy.run(foreign)


# Clauses: V-1
def test_arguments_are_unwrapped_to_each_replicas_component():
    strategy = mirrored()
    result = strategy.run(lambda a, b, c: (a["x"] * 10 + b, c), ({"x": ss.PerReplica([1, 2, 3])}, 5, "text"))
    assert result[0].values == (15, 25, 35)
    assert result[1] == "text"


# Clauses: V-2
def test_results_are_regrouped_by_structure_and_identity():
    strategy, shared = mirrored(), object()
    result = strategy.run(lambda: {"shared": shared, "own": [rank() + 1000.5], "none": None})
    assert result["shared"] is shared
    assert result["none"] is None
    assert result["own"][0].values == (1000.5, 1001.5, 1002.5)
    assert mirrored(1).run(lambda: 1000.5) == 1000.5


# Clauses: V-3
def test_results_of_different_structure_are_named():
    with pytest.raises(ss.errors.InvalidArgument, match=r"result\['a'\].*length 0.*replica 1 has a list of length 1"):
        mirrored().run(lambda: {"a": [0] * rank()})


# Clauses: M-1
def test_replicas_run_one_at_a_time_in_rank_order():
    order = []

    def replica():
        for part in ("start", "middle", "end"):
            order.append(part + str(rank()))
            if part != "end":
                me().merge_call(lambda _, part=part: order.append("merge"))

    mirrored().run(replica)
    parts = [[f"{part}{i}" for i in range(3)] for part in ("start", "middle", "end")]
    assert order == [*parts[0], "merge", *parts[1], "merge", *parts[2]]


# Clauses: M-2
def test_different_requests_raise_with_one_line_per_replica():
    def replica():
        if rank() == 0:
            return me().all_reduce(SUM, np.ones(2, np.float32))
        if rank() == 1:
            return me().all_reduce(MEAN, np.ones(2, np.float32))
        return None

    with pytest.raises(ss.errors.ReplicasDisagree) as caught:
        mirrored().run(replica)
    lines = str(caught.value).splitlines()[1:]
    first = replica.__code__.co_firstlineno
    assert lines == [
        f"  replica 0: all_reduce SUM float32[2] at test_law.py:{first + 2}",
        f"  replica 1: all_reduce MEAN float32[2] at test_law.py:{first + 4}",
        f"  replica 2: returned from replica (test_law.py:{first})",
    ]


# Clauses: M-3
def test_a_replicas_own_exception_comes_out_unchanged_with_a_note_of_who_waited():
    ended, error = [], KeyError("mine")

    def replica():
        try:
            if rank() == 1:
                raise error
            me().all_reduce(SUM, 1.0)
        finally:
            ended.append(rank())

    with pytest.raises(KeyError) as caught:
        mirrored().run(replica)
    assert caught.value is error
    note = caught.value.__notes__[0].splitlines()
    first = replica.__code__.co_firstlineno
    assert note == [
        f"In replica 1: KeyError('mine') raised at test_law.py:{first + 3}",
        f"  replica 0 was waiting in all_reduce SUM float32[] at test_law.py:{first + 4}",
        "  replica 2 had not come so far",
    ]
    assert ended == [1, 0]


# Clauses: M-4
def test_equal_requests_from_different_lines_warn_once_and_strict_checks_refuse_them():
    def replica():
        for _ in range(2):
            if rank() == 0:
                me().all_reduce(SUM, 1.0)
            else:
                me().all_reduce(SUM, 2.0)

    with pytest.warns(ss.errors.CallSitesDiffer) as caught:
        mirrored(2).run(replica)
    assert len(caught) == 1
    with pytest.raises(ss.errors.ReplicasDisagree, match="different lines"):
        mirrored(2, checks="strict").run(replica)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mirrored(2, checks=False).run(replica)


# Clauses: M-5
def test_merge_call_calls_one_function_once_and_hands_out_components():
    calls = []

    def merge(strategy, values, scale):
        calls.append(values.values)
        return ss.PerReplica([value * scale for value in values.values]), "same"

    result = mirrored().run(lambda: me().merge_call(merge, args=(rank() + 0.5,), kwargs={"scale": 2}))
    assert calls == [(0.5, 1.5, 2.5)]
    assert result[0].values == (1.0, 3.0, 5.0)
    assert result[1] == "same"

    def differing():
        number = rank()
        return me().merge_call(lambda _: number)

    with pytest.raises(ss.errors.ReplicasDisagree, match="number=0"):
        mirrored().run(differing)


# Clauses: M-6
def test_runs_nest_inside_merge_functions():
    def inner(value):
        return me().all_reduce(SUM, value)

    result = mirrored().run(
        lambda: me().merge_call(lambda strategy, v: strategy.run(inner, (v,)), (np.float32(rank()),))
    )
    assert [float(value) for value in result.values] == [3.0, 3.0, 3.0]


# Clauses: R-1
def test_sums_fold_in_rank_order_and_means_divide_once():
    strategy = mirrored(4)
    values = ss.PerReplica([np.float32(x) for x in (1e8, 1, -1e8, 1)])
    assert float(strategy.reduce(SUM, values)) == 1.0
    assert float(strategy.reduce(MEAN, values)) == 0.25
    small = strategy.reduce(SUM, ss.PerReplica([np.uint8(200)] * 4))
    assert (small.dtype, int(small)) == (np.uint8, 800 % 256)
    for dtype, mean in (("int32", "float64"), ("int64", "float64"), ("int8", "float32"), ("float16", "float16")):
        assert strategy.reduce(MEAN, ss.PerReplica([np.dtype(dtype).type(1)] * 4)).dtype == mean
    assert mirrored(1).reduce(MEAN, np.int32(3)).dtype == np.int32


# Clauses: R-2
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_an_axis_weighs_partial_and_empty_parts_by_their_elements():
    strategy = mirrored(2)

    def reduced(op, *parts):
        return float(strategy.reduce(op, ss.PerReplica([np.asarray(part, np.float32) for part in parts]), axis=0))

    assert reduced(MEAN, [0, 1, 2, 3], [4, 5]) == 2.5
    assert reduced(MEAN, [5, 6], []) == 5.5
    assert reduced(SUM, [5, 6], []) == 11.0
    assert reduced(SUM, [], []) == 0.0
    assert np.isnan(reduced(MEAN, [], []))


# Clauses: R-3
def test_a_plain_value_has_no_sum_without_an_axis():
    strategy = mirrored(2)
    with pytest.raises(ss.errors.InvalidArgument, match="non-DistributedValues"):
        strategy.reduce(SUM, np.float32(2))
    assert strategy.reduce(MEAN, 5) == 5
    assert float(strategy.reduce(SUM, np.float32([1, 2]), axis=0)) == 6.0
    assert float(strategy.reduce(MEAN, np.float32([1, 2]), axis=0)) == 1.5


# Clauses: R-4
def test_what_cannot_be_added_is_named_for_every_replica():
    strategy = mirrored(2)
    with pytest.raises(ss.errors.InvalidArgument) as caught:
        strategy.reduce(SUM, ss.PerReplica([np.ones(1, np.float32), np.ones(2, np.float32)]))
    assert str(caught.value).splitlines()[1:3] == ["  replica 0: float32[1]", "  replica 1: float32[2]"]
    with pytest.raises(ss.errors.InvalidArgument, match="bool"):
        strategy.reduce(SUM, ss.PerReplica([np.bool_(True), np.bool_(False)]))


# Clauses: R-5
def test_all_reduce_reduces_a_nest_leaf_by_leaf():
    result = mirrored().run(lambda: me().all_reduce(MEAN, {"a": np.float32(rank()), "b": [np.int32(rank() * 2)]}))
    assert [float(value) for value in result["a"].values] == [1.0] * 3
    assert [(float(value), value.dtype.name) for value in result["b"][0].values] == [(2.0, "float64")] * 3


# Clauses: R-6
def test_all_gather_concatenates_parts_of_different_sizes_in_rank_order():
    result = mirrored().run(lambda: me().all_gather(np.full((rank(), 1), rank(), np.float32), axis=-2))
    assert [value.tolist() for value in result.values] == [[[1.0], [2.0], [2.0]]] * 3


# Clauses: R-7
def test_one_shared_object_counts_once_per_replica():
    shared = np.float32(3)
    assert [float(value) for value in mirrored().run(lambda: me().all_reduce(SUM, shared)).values] == [9.0] * 3


# Clauses: U-1
def test_every_component_begins_with_worker_0s_initial_value():
    def main(strategy):
        return components(variable(strategy, initial=7.0 + group_of(strategy).coordinator.worker))

    assert ss.sim.Cluster(2, 2).run(main) == ([7.0, 7.0], [7.0, 7.0])


# Clauses: U-2
@pytest.mark.parametrize(
    ("aggregation", "method", "after"),
    [
        (Aggregation.SUM, "assign", 3.0),
        (Aggregation.SUM, "assign_add", 4.0),
        (Aggregation.SUM, "assign_sub", -2.0),
        (Aggregation.MEAN, "assign", 1.5),
        (Aggregation.MEAN, "assign_add", 2.5),
        (Aggregation.MEAN, "assign_sub", -0.5),
        (Aggregation.ONLY_FIRST_REPLICA, "assign", 1.0),
        (Aggregation.ONLY_FIRST_REPLICA, "assign_add", 2.0),
        (Aggregation.ONLY_FIRST_REPLICA, "assign_sub", 0.0),
    ],
)
def test_an_on_write_variable_takes_the_aggregation_of_the_replicas_writes(aggregation, method, after):
    strategy = mirrored(2)
    v = variable(strategy, aggregation)
    strategy.run(lambda: getattr(v, method)(np.float32(rank() + 1)))
    assert components(v) == [after, after]


# Clauses: U-2
def test_a_write_without_aggregation_is_refused_before_tf2_and_local_in_tf2():
    for semantics in (ss.Semantics.TF1_13, ss.Semantics.TF1_15):
        strategy = mirrored(2, semantics=semantics)
        v = variable(strategy)
        with pytest.raises(ss.errors.InvalidArgument, match="You must specify an aggregation"):
            strategy.run(lambda v=v: v.assign(np.float32(2)))
        assert components(v) == [1.0, 1.0]
    strategy = mirrored(2, semantics=ss.Semantics.TF2)
    v = variable(strategy)
    with pytest.warns(ss.errors.MirroredDiverged):
        strategy.run(lambda: v.assign(np.float32(rank())))
    assert components(v) == [0.0, 1.0]


# Clauses: U-3
def test_one_shared_object_cannot_be_summed_into_a_variable():
    strategy, shared = mirrored(2), np.float32(5)
    summed, averaged = variable(strategy, Aggregation.SUM), variable(strategy, Aggregation.MEAN)
    with pytest.raises(ss.errors.InvalidArgument, match="very same object"):
        strategy.run(lambda: summed.assign(shared))
    strategy.run(lambda: averaged.assign(shared))
    assert (components(summed), components(averaged)) == ([1.0, 1.0], [5.0, 5.0])


# Clauses: U-4
@pytest.mark.parametrize(
    ("aggregation", "read"), [(Aggregation.SUM, 3.0), (Aggregation.MEAN, 1.5), (Aggregation.ONLY_FIRST_REPLICA, 1.0)]
)
def test_an_on_read_variable_is_written_locally_and_aggregated_when_read(aggregation, read):
    strategy = mirrored(2)
    v = variable(strategy, aggregation, Synchronization.ON_READ)
    strategy.run(lambda: v.assign(np.float32(rank() + 1)))
    assert components(v) == [1.0, 2.0]
    assert float(v.read_value()) == read
    assert float(v.value()) == 1.0
    with strategy.scope():
        assert float(v.value()) == read
    assert strategy.run(lambda: float(v.value()) + 0.5).values == (1.5, 2.5)


# Clauses: U-4
def test_an_on_read_variable_without_aggregation_has_no_value_outside_replicas():
    strategy = mirrored(2)
    v = variable(strategy, Aggregation.NONE, Synchronization.ON_READ)
    with strategy.scope(), pytest.raises(ss.errors.InvalidArgument, match="Could not convert"):
        v.value()


# Clauses: U-5
def test_a_write_outside_replicas_changes_every_component_and_a_total_is_shared_out():
    strategy = mirrored(2)
    v = variable(strategy, Aggregation.SUM)
    v.assign(6.0)
    v.assign_add(1.0)
    assert components(v) == [7.0, 7.0]
    total = variable(strategy, Aggregation.SUM, Synchronization.ON_READ)
    total.assign(6.0)
    assert components(total) == [3.0, 3.0]
    for method in ("assign_add", "assign_sub"):
        with pytest.raises(ss.errors.InvalidArgument, match=f"does not support `{method}`"):
            getattr(total, method)(1.0)


# Clauses: U-6
def test_a_variable_never_changes_its_form():
    strategy = mirrored(2)
    v = variable(strategy, Aggregation.SUM)
    for wrong in (np.ones(2, np.float32), np.float64(1)):
        with pytest.raises(ss.errors.InvalidArgument, match="changes its form"):
            v.assign(wrong)
    assert (components(v), v.dtype, v.shape) == ([1.0, 1.0], "float32", ())


# Clauses: U-7
def test_variables_that_no_rule_could_write_are_refused():
    for semantics in (ss.Semantics.TF1_13, ss.Semantics.TF1_15, ss.Semantics.TF2):
        strategy = mirrored(2, semantics=semantics)
        with strategy.scope():
            for name in (None, "v"):
                with pytest.raises(ss.errors.InvalidArgument, match="`NONE` variable synchronization mode"):
                    ss.Variable(1.0, synchronization=Synchronization.NONE, name=name)
            if semantics is ss.Semantics.TF2:
                with pytest.raises(ss.errors.InvalidArgument, match="aggregation MEAN needs a floating dtype"):
                    ss.Variable(np.int32(1), aggregation=Aggregation.MEAN)
                continue
            v = ss.Variable(np.int32(1), aggregation=Aggregation.MEAN)
        with pytest.raises(ss.errors.InvalidArgument, match="the mean of int32 is float64"):
            strategy.run(lambda v=v: v.assign(me().xp.asarray(rank())))
        assert components(v) == [1.0, 1.0]


# Clauses: U-8
def test_a_variable_of_no_strategy_is_one_value_that_replicas_change_at_once():
    v = ss.Variable(1.0, aggregation=Aggregation.SUM, synchronization=Synchronization.NONE)
    seen = mirrored(2).run(lambda: (v.assign_add(1.0), v.value())[1])
    assert [float(one) for one in seen.values] == [2.0, 3.0]
    assert components(v) == [3.0]
    strategy = ss.Strategy.one_device("sim")
    own = variable(strategy)
    strategy.run(lambda: own.assign_add(1.0))
    assert components(own) == [2.0]


# Clauses: U-9
def test_central_storage_has_one_component_and_aggregates_writes_to_it():
    strategy = ss.Strategy.central_storage("sim", replicas=2, semantics=ss.Semantics.TF2)
    summed, plain = variable(strategy, Aggregation.SUM, Synchronization.ON_READ), variable(strategy)
    strategy.run(lambda: summed.assign_add(np.float32(rank() + 1)))
    assert components(summed) == [4.0]
    with pytest.raises(ss.errors.InvalidArgument, match="You must specify an aggregation method"):
        strategy.run(lambda: plain.assign(2.0))


# Clauses: U-10
def test_inside_another_strategy_a_variable_is_read_and_not_written():
    one, other = mirrored(2), mirrored(3)
    v, local = variable(one, initial=7.0), variable(one, Aggregation.SUM, Synchronization.ON_READ)
    assert [float(seen) for seen in other.run(v.value).values] == [7.0] * 3
    for call in (lambda: v.assign(1.0), local.value, lambda: local.assign_add(1.0)):
        with pytest.raises(ss.errors.ContextError, match="Mixing different strategies"):
            other.run(call)


# Clauses: U-11
def test_replicas_make_one_variable_together():
    strategy = mirrored(2)
    made = strategy.run(lambda: ss.Variable(np.float32(rank()), name=f"w_{rank()}"))
    assert (made.name, components(made)) == ("w_0", [0.0, 0.0])
    with pytest.raises(ss.errors.ReplicasDisagree, match=r"replica 0: variable w .*\n.*replica 1: returned"):
        strategy.run(lambda: ss.Variable(0.0, name="w") if rank() == 0 else None)


# Clauses: U-12
def test_a_write_returns_the_new_value():
    strategy = mirrored(2)
    v, local = variable(strategy, Aggregation.SUM), variable(strategy, Aggregation.SUM, Synchronization.ON_READ)
    assert [float(one) for one in strategy.run(lambda: v.assign_add(np.float32(rank()))).values] == [2.0, 2.0]
    across = v.assign(5.0)
    assert (type(across), [float(one) for one in across.values]) == (ss.Mirrored, [5.0, 5.0])
    assert local.assign(6.0) is None
    assert v.assign(5.0, read_value=False) is None


# Clauses: U-13
def test_a_variable_as_a_value_stands_for_its_components_or_its_aggregate():
    strategy = mirrored(2)
    local, v = variable(strategy, Aggregation.SUM, Synchronization.ON_READ), variable(strategy, Aggregation.SUM)
    mean = variable(strategy, Aggregation.MEAN, Synchronization.ON_READ)
    strategy.run(lambda: local.assign(np.float32(rank() + 1)))
    strategy.run(lambda: v.assign(local))
    with strategy.scope():
        mean.assign(local)
    assert (components(v), components(mean)) == ([3.0, 3.0], [3.0, 3.0])


# Clauses: U-14
def test_a_write_that_leaves_components_unequal_is_named():
    different = ss.PerReplica([np.float32(1), np.float32(2)])
    v = variable(mirrored(2))
    with pytest.warns(ss.errors.MirroredDiverged, match=r"assign of variable 'v' at test_law.py:\d+ .* replica 1 "):
        v.assign(different)
    strict = variable(mirrored(2, checks="strict"))
    with pytest.raises(ss.errors.ReplicasDisagree, match="left its components unequal"):
        strict.assign(different)
    assert components(strict) == [1.0, 1.0]


# Clauses: U-15, U-16
def test_what_is_saved_is_restored_on_any_number_of_replicas():
    strategy = mirrored(2)
    total = variable(strategy, Aggregation.SUM, Synchronization.ON_READ)
    strategy.run(lambda: total.assign(np.float32(rank() + 1)))
    saved = strategy.save([total])
    assert {name: value.tolist() for name, value in saved.items()} == {"v": 3.0}
    fewer = mirrored(1)
    restored = variable(fewer, Aggregation.SUM, Synchronization.ON_READ)
    fewer.restore([restored], saved)
    assert components(restored) == [3.0]
    with pytest.raises(ss.errors.InvalidArgument, match="'other': saved, and no variable of that name is given"):
        fewer.restore([restored], {**saved, "other": saved["v"]})


# Clauses: D-1
def test_batches_are_cut_on_their_own_and_dealt_to_workers_by_turns():
    data = ss.data.Dataset.range(10).batch(4)
    strategy = mirrored(3)
    steps = [host(strategy, step) for step in strategy.experimental_distribute_dataset(data)]
    assert steps == [[[0, 1], [2, 3], []], [[4, 5], [6, 7], []], [[8], [9], []]]

    def main(strategy):
        return [
            host(strategy, step) for step in strategy.experimental_distribute_dataset(ss.data.Dataset.range(8).batch(8))
        ]

    assert ss.sim.Cluster(2, 2).run(main) == ([[[0, 1], [4, 5]]], [[[2, 3], [6, 7]]])


# Clauses: D-2
def test_a_distributed_dataset_is_iterated_again_and_outside_replica_functions():
    strategy = mirrored(2)
    distributed = strategy.experimental_distribute_dataset(ss.data.Dataset.range(3).batch(2))
    assert [len(list(distributed)), len(list(distributed))] == [2, 2]
    iterator = iter(distributed)
    with pytest.raises(ss.errors.ContextError, match="outside of the replica function"):
        strategy.run(lambda: next(iterator))
    iterator.get_next(), iterator.get_next()
    with pytest.raises(ss.errors.OutOfRangeError):
        iterator.get_next()


# Clauses: K-1
def test_a_cluster_spans_its_workers_and_keeps_local_results_local():
    def main(strategy):
        result = strategy.run(lambda: np.float32(rank()))
        return strategy.num_replicas_in_sync, host(strategy, result), float(strategy.reduce(SUM, result))

    assert ss.sim.Cluster(2, 2).run(main) == ((4, [0.0, 1.0], 6.0), (4, [2.0, 3.0], 6.0))


# Clauses: K-2
def test_a_worker_that_raises_or_leaves_is_named_to_the_others():
    def raising(strategy):
        if group_of(strategy).coordinator.worker == 1:
            raise KeyError("mine")
        return strategy.run(lambda: me().all_reduce(SUM, 1.0))

    waiting, raised = ss.sim.Cluster(2, 1).outcomes(raising)
    assert isinstance(waiting.error, ss.errors.PeerFailed)
    assert "replica 1: KeyError('mine') raised at test_law.py" in str(waiting.error)
    assert isinstance(raised.error, KeyError)

    def leaving(strategy):
        if group_of(strategy).coordinator.worker == 0:
            strategy.run(lambda: me().all_reduce(SUM, 1.0))

    with pytest.raises(ss.errors.ReplicasDisagree, match=r"replica 0: all_reduce.*\n.*replica 1: the program ended"):
        ss.sim.Cluster(2, 1).run(leaving)
