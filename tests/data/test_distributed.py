"""Distributed datasets: each replica's part of each batch, its end, and what may not be distributed."""

import warnings
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simstrategy as ss
from simstrategy.data import Dataset
from simstrategy.errors import ContextError, InvalidArgument, InvalidType, OutOfRangeError


class Example(NamedTuple):
    image: object
    label: object


def parts(step):
    return [np.asarray(one).tolist() for one in step.values]


def steps(strategy, dataset):
    return [parts(step) for step in strategy.experimental_distribute_dataset(dataset)]


def test_each_batch_is_cut_on_its_own_and_the_last_ones_may_be_empty(mirrored):
    assert steps(mirrored(2), Dataset.range(10).batch(4)) == [[[0, 1], [2, 3]], [[4, 5], [6, 7]], [[8], [9]]]
    assert steps(mirrored(3), Dataset.range(10).batch(4)) == [
        [[0, 1], [2, 3], []],
        [[4, 5], [6, 7], []],
        [[8], [9], []],
    ]
    assert steps(mirrored(2), Dataset.range(14).batch(8))[1] == [[8, 9, 10], [11, 12, 13]]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 20), st.integers(1, 7), st.integers(2, 5))
def test_every_element_reaches_exactly_one_replica(size, batch_size, replicas):
    strategy = ss.Strategy.mirrored("sim", replicas=replicas)
    found = steps(strategy, Dataset.range(size).batch(batch_size))
    assert [i for step in found for part in step for i in part] == list(range(size))
    assert all(len(step) == replicas for step in found)


def test_an_empty_part_keeps_its_other_sizes_its_dtype_and_its_device(mirrored):
    dataset = Dataset.from_tensor_slices(np.ones((1, 3, 2), np.float16)).batch(4)
    (step,) = mirrored(3).experimental_distribute_dataset(dataset)
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


def test_leaves_of_different_batch_sizes_are_cut_each_by_its_own(mirrored):
    (step,) = mirrored(2).experimental_distribute_dataset([(np.arange(4), np.arange(3))])
    assert parts(step[0]) == [[0, 1], [2, 3]]
    assert parts(step[1]) == [[0, 1], [2]]


def test_one_replica_gets_whole_batches_unwrapped_and_scalars_too(mirrored):
    strategy = mirrored(1)
    batches = list(strategy.experimental_distribute_dataset(Dataset.range(3).batch(2)))
    assert [np.asarray(one).tolist() for one in batches] == [[0, 1], [2]]
    assert batches[0].placement == "sim:0"


def test_a_single_replica_takes_unbatched_scalars_as_they_are(mirrored, same):
    for number, one in enumerate(mirrored(1).experimental_distribute_dataset(Dataset.range(2))):
        same(one, np.int64(number))


def test_unbatched_scalars_are_refused_with_advice_and_the_element(mirrored):
    distributed = mirrored(2).experimental_distribute_dataset(Dataset.range(3))
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


def test_a_dataset_may_be_iterated_again_and_a_generator_only_once(mirrored):
    again = mirrored(2).experimental_distribute_dataset(Dataset.range(4).batch(4))
    assert [parts(one) for one in again] == [parts(one) for one in again] == [[[0, 1], [2, 3]]]
    once = mirrored(2).experimental_distribute_dataset(np.arange(2) for _ in range(1))
    assert len(list(once)) == 1
    assert len(list(once)) == 0


def test_nothing_is_read_before_it_is_asked_for(mirrored):
    read = []

    def batches():
        for number in range(3):
            read.append(number)
            yield np.arange(2)

    iterator = iter(mirrored(2).experimental_distribute_dataset(batches()))
    assert read == []
    next(iterator)
    assert read == [0]


@pytest.mark.parametrize("wrong", [5, "text", b"bytes", {"x": [1, 2]}, None, np.float32(1)], ids=repr)
def test_what_is_no_iterable_of_batches_is_refused_with_advice(mirrored, wrong):
    with pytest.raises((InvalidType, TypeError), match=r"Expected a dataset|iterat"):
        list(mirrored(2).experimental_distribute_dataset(wrong))


def test_the_end_is_a_stop_iteration_every_time_and_get_next_an_out_of_range_error(mirrored):
    iterator = iter(mirrored(2).experimental_distribute_dataset(Dataset.range(2).batch(2)))
    assert iter(iterator) is iterator
    assert parts(iterator.get_next()) == [[0], [1]]
    for _ in range(2):
        with pytest.raises(StopIteration):
            next(iterator)
        with pytest.raises(OutOfRangeError, match="no further step"):
            iterator.get_next()


def test_an_iterator_may_not_be_asked_inside_a_replica_function(mirrored):
    strategy = mirrored(2)
    distributed = strategy.experimental_distribute_dataset(Dataset.range(4).batch(2))
    iterator = iter(distributed)
    for ask in (lambda: next(iterator), iterator.get_next, lambda: iter(distributed)):
        with pytest.raises(ContextError, match=r"outside of the replica function: .*args=\(next\(iterator\),\)"):
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
