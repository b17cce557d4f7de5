"""The in-memory pipeline: what each step yields, how often, and what it refuses."""

import collections
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simstrategy.data import Dataset
from simstrategy.errors import InvalidArgument


class Example(NamedTuple):
    image: object
    label: object


def listed(dataset):
    return [np.asarray(one).tolist() for one in dataset]


def test_a_range_is_int64_scalars_with_the_arguments_of_pythons():
    assert listed(Dataset.range(3)) == [0, 1, 2]
    assert listed(Dataset.range(2, 9, 3)) == [2, 5, 8]
    assert listed(Dataset.range(3, 0, -1)) == [3, 2, 1]
    assert next(iter(Dataset.range(1))).dtype == np.int64
    assert next(iter(Dataset.range(1))).shape == ()


def test_slices_keep_the_nest_and_the_dtypes():
    images, labels = np.arange(6, dtype=np.float32).reshape(3, 2), np.int8([7, 8, 9])
    for nest in ((images, labels), {"x": images, "y": labels}, Example(images, labels), (images, (labels, images))):
        elements = list(Dataset.from_tensor_slices(nest))
        assert len(elements) == 3
        assert all(type(element) is type(nest) for element in elements)
    element = list(Dataset.from_tensor_slices(Example(images, labels)))[1]
    assert element.image.tolist() == [2, 3]
    assert element.image.dtype == np.float32
    assert element.label == 8
    assert element.label.dtype == np.int8


def test_a_list_is_stacked_into_one_array_and_a_tuple_is_structure():
    assert listed(Dataset.from_tensor_slices([[1, 2], [3, 4]])) == [[1, 2], [3, 4]]
    assert [tuple(map(int, one)) for one in Dataset.from_tensor_slices(([1, 2], [3, 4]))] == [(1, 3), (2, 4)]
    assert [int(one["a"][0]) for one in Dataset.from_tensor_slices({"a": ([1, 2],)})] == [1, 2]


def test_a_mapping_keeps_its_type():
    nest = collections.OrderedDict([("b", np.arange(2)), ("a", np.arange(2))])
    assert type(next(iter(Dataset.from_tensor_slices(nest)))) is collections.OrderedDict


@pytest.mark.parametrize("scalars", [3, np.float32(1), (np.arange(2), 3), ()])
def test_slices_of_scalars_and_of_nothing_are_refused(scalars):
    with pytest.raises(InvalidArgument, match="at least one dimension"):
        Dataset.from_tensor_slices(scalars)


def test_slices_of_unequal_length_are_refused_with_the_lengths():
    with pytest.raises(InvalidArgument, match=r"arrays of \[2, 3\] rows"):
        Dataset.from_tensor_slices((np.arange(2), np.arange(3)))


@given(st.integers(0, 30), st.integers(1, 8), st.booleans())
def test_batches_hold_every_element_in_order(size, batch_size, drop):
    batches = listed(Dataset.range(size).batch(batch_size, drop_remainder=drop))
    kept = size - size % batch_size if drop else size
    assert [i for batch in batches for i in batch] == list(range(kept))
    assert [len(batch) for batch in batches[:-1]] == [batch_size] * (len(batches) - 1)
    if drop:
        assert all(len(batch) == batch_size for batch in batches)


def test_batching_keeps_dtype_and_stacks_every_leaf():
    dataset = Dataset.from_tensor_slices({"x": np.ones((5, 2), np.float16), "y": np.arange(5, dtype=np.uint8)}).batch(2)
    first, *_, last = dataset
    assert first["x"].shape == (2, 2)
    assert first["x"].dtype == np.float16
    assert first["y"].dtype == np.uint8
    assert last["x"].shape == (1, 2)


def test_batching_twice_batches_batches():
    assert listed(Dataset.range(8).batch(2).batch(2)) == [[[0, 1], [2, 3]], [[4, 5], [6, 7]]]


def test_batching_unequal_shapes_is_refused_with_the_shapes():
    with pytest.raises(InvalidArgument, match=r"rows of different shapes: \[\(1,\), \(2,\)\]"):
        list(Dataset.range(3).batch(2).batch(2))


@pytest.mark.parametrize("size", [0, -1, 2.0, True, None, "2"])
def test_a_batch_size_is_a_whole_positive_number(size):
    with pytest.raises(InvalidArgument, match="at least 1, got"):
        Dataset.range(3).batch(size)


def test_repeat_starts_again_and_ends_each_round_with_its_short_batch():
    assert listed(Dataset.range(3).repeat(2)) == [0, 1, 2, 0, 1, 2]
    assert listed(Dataset.range(3).repeat(0)) == []
    assert listed(Dataset.range(3).batch(2).repeat(2)) == [[0, 1], [2], [0, 1], [2]]
    assert listed(Dataset.range(3).repeat(2).batch(2)) == [[0, 1], [2, 0], [1, 2]]


def test_repeat_without_a_count_has_no_end_and_of_nothing_ends_at_once():
    assert listed(Dataset.range(2).repeat().take(5)) == [0, 1, 0, 1, 0]
    assert listed(Dataset.range(0).repeat()) == []


@pytest.mark.parametrize("count", [-1, 1.0, "2"])
def test_repeat_and_take_want_a_count(count):
    with pytest.raises(InvalidArgument, match="repeat takes a count of at least 0"):
        Dataset.range(3).repeat(count)
    with pytest.raises(InvalidArgument, match="take takes a count of at least 0"):
        Dataset.range(3).take(count)


def test_take_ends_early_or_with_its_input_and_asks_for_no_more_than_it_gives():
    assert listed(Dataset.range(5).take(2)) == [0, 1]
    assert listed(Dataset.range(2).take(5)) == [0, 1]
    assert listed(Dataset.range(2).take(0)) == []
    asked = []

    def elements():
        for number in range(5):
            asked.append(number)
            yield [np.asarray(number)]

    list(Dataset(elements, None).take(2))
    assert asked == [0, 1]


def test_a_dataset_is_iterated_anew_each_time_and_by_several_at_once():
    dataset = Dataset.range(4).batch(2)
    assert listed(dataset) == listed(dataset)
    one, other = iter(dataset), iter(dataset)
    assert next(one).tolist() == next(other).tolist() == [0, 1]
    assert next(one).tolist() == [2, 3]
    assert next(other).tolist() == [2, 3]


def test_a_step_leaves_the_dataset_before_it_alone():
    numbers = Dataset.range(4)
    numbers.batch(2)
    numbers.take(1)
    assert listed(numbers) == [0, 1, 2, 3]
