"""Distributed datasets: each replica's part of each step, how iteration ends, and what may not be distributed.

# Clauses: D-1, D-2, D-4
"""

import warnings
from collections import OrderedDict
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simstrategy as ss
from simstrategy.data import AutoShardPolicy, Dataset, ElementSpec, Options, SplitRule
from simstrategy.errors import ContextError, InvalidArgument, InvalidType, OutOfRangeError
from simstrategy.values import PerReplica


class Example(NamedTuple):
    image: object
    label: object


def parts(step):
    return [np.asarray(one).tolist() for one in step.values]


def steps(strategy, dataset, options=None):
    return [parts(step) for step in strategy.experimental_distribute_dataset(dataset, options)]


def test_each_batch_is_cut_on_its_own_and_the_last_ones_may_be_empty(mirrored):
    assert steps(mirrored(2), Dataset.range(10).batch(4)) == [[[0, 1], [2, 3]], [[4, 5], [6, 7]], [[8], [9]]]
    assert steps(mirrored(3), Dataset.range(10).batch(4)) == [
        [[0, 1], [2, 3], []],
        [[4, 5], [6, 7], []],
        [[8], [9], []],
    ]
    assert steps(mirrored(2), Dataset.range(14).batch(8))[1] == [[8, 9, 10], [11, 12, 13]]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 20), st.integers(1, 7), st.integers(2, 5), st.sampled_from(SplitRule))
def test_every_element_reaches_exactly_one_replica(size, batch_size, replicas, rule):
    strategy = ss.Strategy.mirrored("sim", replicas=replicas)
    found = steps(strategy, Dataset.range(size).batch(batch_size), ss.InputOptions(split_rule=rule))
    assert [i for step in found for part in step for i in part] == list(range(size))
    assert all(len(step) == replicas for step in found)


def test_an_empty_part_keeps_its_other_sizes_its_dtype_and_its_device(mirrored):
    dataset = Dataset.from_tensor_slices(np.ones((1, 3, 2), np.float16)).batch(4)
    for rule in SplitRule:
        options = ss.InputOptions(split_rule=rule)
        (step,) = mirrored(3).experimental_distribute_dataset(dataset, options)
        assert [one.shape for one in step.values] == [(1, 3, 2), (0, 3, 2), (0, 3, 2)]
        assert {one.dtype for one in step.values} == {np.dtype(np.float16)}
        assert [one.placement for one in step.values] == ["sim:0", "sim:1", "sim:2"]


def test_a_nest_stays_a_nest_with_per_replica_leaves(mirrored):
    nest = {"x": np.arange(4, dtype=np.float32), "y": Example(np.arange(8).reshape(4, 2), np.int8([1, 2, 3, 4]))}
    (step,) = mirrored(2).experimental_distribute_dataset(Dataset.from_tensor_slices(nest).batch(4))
    assert type(step["y"]) is Example
    assert parts(step["x"]) == [[0, 1], [2, 3]]
    assert parts(step["y"].image) == [[[0, 1], [2, 3]], [[4, 5], [6, 7]]]
    assert [one.dtype for one in step["y"].label.values] == [np.int8] * 2


@pytest.mark.parametrize("replicas", [1, 2])
def test_a_mapping_keeps_its_type_and_the_order_of_its_keys_into_the_replicas(mirrored, replicas):
    strategy = mirrored(replicas)
    for nest in ({"b": np.arange(2), "a": np.arange(2)}, OrderedDict([("b", np.arange(2)), ("a", np.arange(2))])):
        (step,) = strategy.experimental_distribute_dataset(Dataset.from_tensor_slices({"x": nest}).batch(2))
        assert type(step["x"]) is type(nest)
        seen = []
        strategy.run(lambda own, seen=seen: seen.append([*own["x"]]), args=(step,))
        assert [*step["x"]] == ["b", "a"]
        assert seen == [["b", "a"]] * replicas


def test_texts_stay_on_the_host_and_are_split_like_everything_else(mirrored):
    words = np.array([b"a\0", b"b", b"c"], dtype=object)
    found = steps(mirrored(2), Dataset.from_tensor_slices((words, np.arange(3))).batch(2).map(lambda word, _: word))
    assert found == [[[b"a\0"], [b"b"]], [[b"c"], []]]
    strategy = mirrored(2)
    (step,) = strategy.experimental_distribute_dataset(Dataset.from_tensor_slices(["x", "y"]).batch(2))
    lengths = strategy.run(lambda own: sum(map(len, own)) + ss.get_replica_context().replica_id_in_sync_group, (step,))
    assert lengths.values == (1, 2)


def test_leaves_of_different_batch_sizes_are_cut_each_by_its_own_and_are_no_stream(mirrored):
    batches = [(np.arange(4), np.arange(3))]
    (step,) = mirrored(2).experimental_distribute_dataset(batches)
    assert parts(step[0]) == [[0, 1], [2, 3]]
    assert parts(step[1]) == [[0, 1], [2]]
    with pytest.raises(InvalidArgument, match=r"Element 0 of the dataset has arrays of \[4, 3\] rows, and only"):
        list(mirrored(2).experimental_distribute_dataset(batches, ss.InputOptions(split_rule=SplitRule.STREAM)))


def test_one_replica_gets_whole_batches_unwrapped_and_scalars_too(mirrored, same):
    strategy = mirrored(1)
    batches = list(strategy.experimental_distribute_dataset(Dataset.range(3).batch(2)))
    assert [np.asarray(one).tolist() for one in batches] == [[0, 1], [2]]
    assert batches[0].placement == "sim:0"
    for number, one in enumerate(strategy.experimental_distribute_dataset(Dataset.range(2))):
        same(one, np.int64(number))


def test_unbatched_vectors_are_split_and_unbatched_scalars_refused_with_advice_and_the_element(mirrored):
    assert steps(mirrored(2), Dataset.from_tensor_slices(np.arange(6).reshape(2, 3))) == [[[0, 1], [2]], [[3, 4], [5]]]
    for rule in SplitRule:
        options = ss.InputOptions(split_rule=rule)
        distributed = mirrored(2).experimental_distribute_dataset(Dataset.range(3), options)
        with pytest.raises(InvalidArgument, match=r"Element 0 .*scalar int64.*not batched\? Call .batch"):
            next(iter(distributed))


def test_parts_arrive_as_arguments_of_the_replica_they_are_for(mirrored):
    strategy = mirrored(2)
    totals = [
        [float(one) for one in strategy.run(lambda x: ss.get_replica_context().xp.sum(x) * 1.0, args=(batch,)).values]
        for batch in strategy.experimental_distribute_dataset(Dataset.range(5).batch(4))
    ]
    assert totals == [[1, 5], [4, 0]]


def test_generators_lists_and_arrays_of_batches_are_datasets_too(mirrored):
    def batches():
        yield np.arange(4)
        yield np.arange(2)

    wanted = [[[0, 1], [2, 3]], [[0], [1]]]
    assert steps(mirrored(2), batches()) == wanted
    assert steps(mirrored(2), list(batches())) == wanted
    assert steps(mirrored(2), np.arange(8).reshape(2, 4)) == [[[0, 1], [2, 3]], [[4, 5], [6, 7]]]


def test_a_stream_of_batches_of_unknown_size_takes_the_first_ones(mirrored):
    options = ss.InputOptions(split_rule=SplitRule.STREAM)
    batches = (np.arange(start, stop) for start, stop in ((0, 4), (4, 5), (5, 10)))
    assert steps(mirrored(2), batches, options) == [[[0, 1], [2, 3]], [[4, 5], [6, 7]], [[8, 9], []]]
    assert steps(mirrored(2), [], options) == []
    assert steps(mirrored(2), [np.arange(0), np.arange(2)], options) == [[[0], []], [[1], []]]


def test_a_dataset_may_be_iterated_over_again(mirrored):
    again = mirrored(2).experimental_distribute_dataset(Dataset.range(4).batch(4))
    assert [parts(one) for one in again] == [parts(one) for one in again] == [[[0, 1], [2, 3]]]


@pytest.mark.parametrize("rule", SplitRule)
def test_nothing_is_read_before_it_is_asked_for(mirrored, rule):
    read = []

    def batches():
        for number in range(3):
            read.append(number)
            yield np.arange(2)

    dataset = Dataset.from_generator(batches, ElementSpec((2,), "int64"))
    iterator = iter(mirrored(2).experimental_distribute_dataset(dataset, ss.InputOptions(split_rule=rule)))
    assert read == []
    next(iterator)
    assert read == [0]


def test_a_dataset_without_end_is_iterated_as_far_as_it_is_asked(mirrored):
    for rule in SplitRule:
        options = ss.InputOptions(split_rule=rule)
        iterator = iter(mirrored(2).experimental_distribute_dataset(Dataset.range(3).repeat().batch(4), options))
        assert [parts(next(iterator)) for _ in range(2)] == [[[0, 1], [2, 0]], [[1, 2], [0, 1]]]


@pytest.mark.parametrize("wrong", [5, "text", b"bytes", {"x": [1, 2]}, None, np.float32(1)], ids=repr)
def test_what_is_no_iterable_of_batches_is_refused_with_advice(mirrored, wrong):
    with pytest.raises((InvalidType, TypeError), match=r"Expected a dataset|iterat"):
        list(mirrored(2).experimental_distribute_dataset(wrong))


def test_what_is_distributed_already_is_not_distributed_again(mirrored):
    strategy = mirrored(2)
    distributed = strategy.experimental_distribute_dataset(Dataset.range(4).batch(2))
    for again in (distributed, iter(distributed), strategy.make_dataset_iterator(Dataset.range(4).batch(2))):
        for distribute in (strategy.experimental_distribute_dataset, strategy.make_dataset_iterator):
            with pytest.raises(InvalidType, match="This dataset is distributed already"):
                distribute(again)


# The end.


def test_the_end_is_a_stop_iteration_every_time_and_get_next_an_out_of_range_error(mirrored):
    iterator = iter(mirrored(2).experimental_distribute_dataset(Dataset.range(2).batch(2)))
    assert iter(iterator) is iterator
    assert parts(iterator.get_next()) == [[0], [1]]
    for _ in range(2):
        with pytest.raises(StopIteration):
            next(iterator)
        with pytest.raises(OutOfRangeError, match="no further step"):
            iterator.get_next()
        assert not iterator.get_next_as_optional().has_value()


def test_an_optional_has_a_step_or_says_that_it_has_none(mirrored):
    iterator = iter(mirrored(2).experimental_distribute_dataset(Dataset.range(2).batch(2)))
    optional = iterator.get_next_as_optional()
    assert optional.has_value()
    assert parts(optional.get_value()) == parts(optional.get_value()) == [[0], [1]]
    with pytest.raises(InvalidArgument, match=r"has no value: the dataset had ended. Call has_value\(\) first"):
        iterator.get_next_as_optional().get_value()


def test_an_iterator_may_not_be_asked_inside_a_replica_function(mirrored):
    strategy = mirrored(2)
    distributed = strategy.experimental_distribute_dataset(Dataset.range(4).batch(2))
    iterator = iter(distributed)
    calls = (lambda: next(iterator), iterator.get_next, iterator.get_next_as_optional, lambda: iter(distributed))
    for ask in calls:
        with pytest.raises(ContextError, match=r"outside of the replica function\. Call .*args=\(next\(iterator\),\)"):
            strategy.run(ask)
    assert parts(next(iterator)) == [[0], [1]]


def test_an_iterator_may_be_asked_in_a_scope_and_in_a_merge_function(mirrored):
    strategy = mirrored(2)
    iterator = iter(strategy.experimental_distribute_dataset(Dataset.range(6).batch(2)))
    with strategy.scope():
        assert parts(next(iterator)) == [[0], [1]]
    result = strategy.run(lambda: ss.get_replica_context().merge_call(lambda strategy: next(iterator)))
    assert parts(result) == [[2], [3]]


def test_the_arrays_of_a_step_are_copies_of_the_data(mirrored):
    data = np.arange(4.0)
    (step,) = mirrored(2).experimental_distribute_dataset(Dataset.from_tensor_slices(data).batch(4))
    data[:] = 9
    assert parts(step) == [[0, 1], [2, 3]]


def test_an_error_of_the_source_comes_out_unchanged(mirrored):
    def batches():
        yield np.arange(2)
        raise OSError("disk")

    iterator = iter(mirrored(2).experimental_distribute_dataset(batches()))
    next(iterator)
    with pytest.raises(OSError, match="disk"):
        next(iterator)


def test_reduce_with_an_axis_is_right_on_partial_and_empty_parts(mirrored, same):
    dataset = Dataset.from_tensor_slices(np.arange(9, dtype=np.float32)).batch(4)
    for replicas in (1, 2, 3, 4):
        strategy = mirrored(replicas)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            means = [
                strategy.reduce("MEAN", step, axis=0) for step in strategy.experimental_distribute_dataset(dataset)
            ]
        for mean, wanted in zip(means, (1.5, 5.5, 8.0), strict=True):
            same(mean, np.float32(wanted))


# Forms.


@pytest.mark.parametrize(
    ("dataset", "replicas", "size"),
    [
        (Dataset.range(8).batch(4, drop_remainder=True), 2, 2),
        (Dataset.range(8).batch(4, drop_remainder=True), 3, None),
        (Dataset.range(8).batch(4), 2, None),
        ([np.arange(4)], 4, None),
    ],
)
def test_the_form_of_a_step_is_that_of_every_replicas_part(mirrored, dataset, replicas, size):
    distributed = mirrored(replicas).experimental_distribute_dataset(dataset)
    for asked in (distributed, iter(distributed)):
        assert isinstance(asked.element_spec, PerReplica)
        assert asked.element_spec.values == (ElementSpec((size,), "int64"),) * replicas


def test_the_form_with_one_replica_is_plain_and_of_an_iterator_unknown(mirrored):
    distributed = mirrored(1).experimental_distribute_dataset(Dataset.range(8).batch(4))
    assert distributed.element_spec == ElementSpec((None,), "int64")
    for unknown in (iter([np.arange(2)]), []):
        with pytest.raises(InvalidArgument, match="The spec of the elements cannot be determined"):
            _ = mirrored(2).experimental_distribute_dataset(unknown).element_spec


# Rules by name.


def test_options_choose_the_rule_and_the_calls_own_stand_above_the_datasets(mirrored):
    page = Dataset.range(6).batch(8)
    per_batch, stream = [[[0, 1, 2], [3, 4, 5]]], [[[0, 1, 2, 3], [4, 5]]]
    assert steps(mirrored(2), page) == per_batch
    assert steps(mirrored(2), page, ss.InputOptions(split_rule=SplitRule.STREAM)) == stream
    asked = page.with_options(Options(split_rule=SplitRule.STREAM))
    assert steps(mirrored(2), asked) == steps(mirrored(2), asked.prefetch(1).take(3)) == stream
    assert steps(mirrored(2), asked, ss.InputOptions(split_rule=SplitRule.PER_BATCH)) == per_batch
    both = asked.with_options(Options(auto_shard_policy=AutoShardPolicy.OFF))
    assert steps(mirrored(2), both) == stream
    zipped = Dataset.zip((Dataset.range(10).batch(4), asked.repeat()))
    found = [parts(x) for x, _ in mirrored(2).experimental_distribute_dataset(zipped.map(lambda x, _: (x, x)))]
    assert found[-1] == [[8, 9], []]


@pytest.mark.parametrize("policy", [AutoShardPolicy.OFF, AutoShardPolicy.FILE, AutoShardPolicy.HINT])
def test_tf2_splits_as_a_stream_where_elements_are_not_dealt_and_the_batch_size_is_known(mirrored, policy):
    options = ss.InputOptions(auto_shard_policy=policy)
    tf2 = {"semantics": ss.Semantics.TF2}
    ten = Dataset.range(10).batch(4)
    stream, per_batch = [[8, 9], []], [[8], [9]]
    for known in (ten, ten.prefetch(1), ten.take(9), ten.filter(lambda x: True), ten.cache().shuffle(1).repeat(1)):
        assert steps(mirrored(2, **tf2), known, options)[-1] == stream
        assert steps(mirrored(2), known, options)[-1] == per_batch
    for unknown in (ten.map(lambda x: x), ten.flat_map(Dataset.from_tensors), list(ten)):
        assert steps(mirrored(2, **tf2), unknown, options)[-1] == per_batch
    assert steps(mirrored(2, **tf2), ten)[-1] == per_batch
    seven = Dataset.range(7).batch(7, drop_remainder=True)
    for known in (seven, seven.map(lambda x: x + 0)):
        assert steps(mirrored(3, **tf2), known, options) == [[[0, 1, 2], [3, 4], [5, 6]]]
    assert steps(mirrored(3, **tf2), seven.map(lambda x: x[:4]), options) == [[[0, 1], [2, 3], []]]


def test_wrong_options_are_refused(mirrored):
    strategy = mirrored(2)
    with pytest.raises(InvalidType, match=r"options are simstrategy.InputOptions, got Options\("):
        strategy.experimental_distribute_dataset(Dataset.range(2).batch(2), Options())
    with pytest.raises(InvalidType, match=r"experimental_replication_mode is one of InputReplicationMode\.PER"):
        ss.InputOptions(experimental_replication_mode="PER_REPLICA")
    per_replica = ss.InputOptions(experimental_replication_mode=ss.InputReplicationMode.PER_REPLICA)
    with pytest.raises(NotImplementedError, match="Use distribute_datasets_from_function"):
        strategy.experimental_distribute_dataset(Dataset.range(2).batch(2), per_replica)


# Chance.


def test_a_shuffle_without_a_seed_draws_from_the_strategys_schedule_and_is_replayed_by_it(mirrored, steps_of):
    dataset = Dataset.range(12).shuffle(12).batch(4)
    recorded = ss.schedules.Recorded(ss.schedules.Seeded(5))
    strategy = mirrored(2, schedule=recorded)
    found = steps_of(strategy, strategy.experimental_distribute_dataset(dataset))
    assert {label for label, _, _ in recorded.draws} == {"shuffle of worker 0"}
    numbers = [i for step in found for part in step for i in part]
    assert sorted(numbers) == list(range(12)) != numbers
    replayed = mirrored(2, schedule=ss.schedules.Replayed(recorded.draws))
    assert steps_of(replayed, replayed.experimental_distribute_dataset(dataset)) == found
    in_order = mirrored(2)
    assert steps_of(in_order, in_order.experimental_distribute_dataset(dataset))[0] == [[0, 1], [2, 3]]


def test_a_seeded_shuffle_has_another_order_in_each_iteration_and_the_same_in_each_run(mirrored):
    dataset = Dataset.range(30).shuffle(30, 3).batch(30)

    def epochs():
        distributed = mirrored(2).experimental_distribute_dataset(dataset)
        return [[parts(step) for step in distributed] for _ in range(3)]

    found = epochs()
    assert found == epochs()
    assert found[0] != found[1] != found[2] != found[0]
