"""The pipeline: what each step yields, how often, how lazily, and what it refuses.

# Clauses: D-9, D-10
"""

import collections
from itertools import islice
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simstrategy.data import SHARD_HINT, Dataset, ElementSpec, Options, TextLineDataset
from simstrategy.errors import InvalidArgument, InvalidType


class Example(NamedTuple):
    image: object
    label: object


def listed(dataset):
    return [np.asarray(one).tolist() for one in dataset]


def counted(asked, size=5):
    """A dataset that notes what is asked of it."""

    def elements():
        for number in range(size):
            asked.append(number)
            yield np.asarray(number)

    return Dataset.from_generator(elements)


# Sources.


def test_a_range_is_int64_scalars_with_the_arguments_of_pythons():
    assert listed(Dataset.range(3)) == [0, 1, 2]
    assert listed(Dataset.range(2, 9, 3)) == [2, 5, 8]
    assert listed(Dataset.range(3, 0, -1)) == [3, 2, 1]
    assert next(iter(Dataset.range(1))).dtype == np.int64
    assert next(iter(Dataset.range(1))).shape == ()


def test_tensors_are_one_element():
    (element,) = Dataset.from_tensors((np.arange(2), "text"))
    assert element[0].tolist() == [0, 1]
    assert element[1].item() == "text"


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
    assert element.label.shape == ()


def test_a_list_is_stacked_into_one_array_and_a_tuple_is_structure():
    assert listed(Dataset.from_tensor_slices([[1, 2], [3, 4]])) == [[1, 2], [3, 4]]
    assert [tuple(map(int, one)) for one in Dataset.from_tensor_slices(([1, 2], [3, 4]))] == [(1, 3), (2, 4)]
    assert [int(one["a"][0]) for one in Dataset.from_tensor_slices({"a": ([1, 2],)})] == [1, 2]


def test_a_mapping_keeps_its_type_and_the_order_of_its_keys():
    nest = collections.OrderedDict([("b", np.arange(2)), ("a", np.arange(2))])
    for dataset in (Dataset.from_tensor_slices(nest), Dataset.from_tensor_slices(nest).batch(2)):
        element = next(iter(dataset))
        assert type(element) is collections.OrderedDict
        assert list(element) == ["b", "a"]


@pytest.mark.parametrize(
    ("data", "dtype"),
    [
        ([1, 2], np.int32),
        ([1.0, 2.0], np.float32),
        ([True], np.bool_),
        ([1j], np.complex64),
        ([2**40, 1], np.int64),
        ([np.float64(1)], np.float64),
        ([np.arange(2)], np.int64),
        (np.float16([1]), np.float16),
    ],
    ids=str,
)
def test_python_numbers_are_32_bits_wide_where_they_fit_and_arrays_keep_their_dtype(data, dtype):
    assert next(iter(Dataset.from_tensor_slices(data))).dtype == dtype


def test_texts_of_every_kind_flow_through_unchanged():
    for texts in (["a", "bc"], [b"a", b"bc"], np.array(["a", "bc"], dtype=object), np.array([b"a", b"bc"])):
        dataset = Dataset.from_tensor_slices(texts).repeat(2).batch(3)
        assert [len(one) for one in dataset] == [3, 1]
        assert np.concatenate(list(dataset)).tolist() == [*np.asarray(texts).tolist()] * 2
        assert dataset.element_spec == ElementSpec((None,), "string")


def test_a_generator_is_started_anew_at_every_iteration_and_may_yield_nests():
    starts = []

    def elements():
        starts.append(1)
        yield 1, {"x": [1.0, 2.0]}
        yield 2, {"x": [3.0, 4.0]}

    dataset = Dataset.from_generator(elements)
    assert len(list(dataset)) == len(list(dataset)) == 2
    assert len(starts) == 2
    number, nest = next(iter(dataset))
    assert number.dtype == np.int32
    assert nest["x"].dtype == np.float32


def test_a_signature_is_what_elements_are_held_to():
    signature = (ElementSpec((None,), "float32"), ElementSpec((), "int64"))
    fitting = [(np.float32([1, 2]), np.int64(1)), (np.float32([]), np.int64(2))]
    assert Dataset.from_generator(lambda: fitting, signature).element_spec == signature
    assert len(list(Dataset.from_generator(lambda: fitting, signature))) == 2
    for wrong in (
        (np.float64([1]), np.int64(1)),
        (np.float32(1), np.int64(1)),
        (np.float32([1]),),
        (np.float32([1]), np.int64([1])),
    ):
        with pytest.raises(InvalidArgument, match=r"from_generator: element 1 is .*, but output_signature is"):
            list(Dataset.from_generator(lambda wrong=wrong: [fitting[0], wrong], signature))


@pytest.mark.parametrize("scalars", [3, np.float32(1), (np.arange(2), 3), ()])
def test_slices_of_scalars_and_of_nothing_are_refused(scalars):
    with pytest.raises(InvalidArgument, match="at least one dimension"):
        Dataset.from_tensor_slices(scalars)


def test_slices_of_unequal_length_are_refused_with_the_lengths():
    with pytest.raises(InvalidArgument, match=r"arrays of \[2, 3\] rows"):
        Dataset.from_tensor_slices((np.arange(2), np.arange(3)))


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: Dataset.from_tensor_slices([[1, 2], [3]]), InvalidArgument, "from_tensor_slices got rows of unequal"),
        (lambda: Dataset.from_tensors(None), InvalidType, "from_tensors got None, which is no array"),
        (lambda: Dataset.from_tensors({1, 2}), InvalidType, "which is no array"),
        (lambda: Dataset.from_tensors(object()), InvalidType, "which NumPy can only hold as an object"),
        (lambda: Dataset.from_tensors(np.datetime64("2020")), InvalidType, "of dtype datetime64"),
        (lambda: Dataset.from_generator(iter([1])), InvalidType, "from_generator takes a function"),
        (lambda: Dataset.from_generator(list, int), InvalidType, "output_signature is a nest of"),
        (lambda: list(Dataset.from_generator(lambda: 3)), InvalidType, "must return an iterable, and returned 3"),
        (lambda: list(Dataset.from_generator(lambda: [1, None])), InvalidType, "from_generator, element 1, got None"),
        (lambda: Dataset.zip((Dataset.range(2), 3)), InvalidType, "zip takes a nest of datasets"),
        (lambda: Dataset.zip(()), InvalidType, "zip takes a nest of datasets"),
    ],
)
def test_what_is_no_source_is_refused_with_a_word_on_it(call, error, text):
    with pytest.raises(error) as raised:
        call()
    assert text in str(raised.value)


# One element at a time.


def test_a_function_gets_a_tuple_unpacked_and_other_nests_whole():
    pairs = Dataset.from_tensor_slices((np.arange(3), np.arange(3) * 10))
    assert listed(pairs.map(lambda x, y: x + y)) == [0, 11, 22]
    named = Dataset.from_tensor_slices(Example(np.arange(2), np.arange(2)))
    assert listed(named.map(lambda example: example.image - example.label)) == [0, 0]
    assert [one["z"].tolist() for one in Dataset.range(2).map(lambda x: {"z": [x, x]})] == [[0, 0], [1, 1]]


def test_a_filter_keeps_what_is_true_and_wants_one_truth_value():
    assert listed(Dataset.range(6).filter(lambda x: x % 2 == 0)) == [0, 2, 4]
    with pytest.raises(InvalidType, match=r"filter returns one truth value, and returned bool\[2\]"):
        list(Dataset.range(4).batch(2).filter(lambda x: x > 1))
    with pytest.raises(InvalidType, match="returned int64"):
        list(Dataset.range(4).filter(lambda x: x))


def test_flat_map_yields_dataset_after_dataset():
    assert listed(Dataset.range(4).flat_map(lambda x: Dataset.range(int(x)))) == [0, 0, 1, 0, 1, 2]
    with pytest.raises(InvalidType, match=r"flat_map returns a simstrategy.data.Dataset, and returned a int"):
        list(Dataset.range(2).flat_map(int))


@pytest.mark.parametrize(
    ("cycle", "block", "wanted"),
    [
        (1, 1, "aaabcc"),
        (2, 1, "abaacc"),
        (2, 2, "aabacc"),
        (3, 1, "abcaca"),
        (5, 3, "aaabcc"),
    ],
)
def test_interleave_goes_round_its_slots_and_refills_one_at_its_next_turn(cycle, block, wanted):
    texts = np.array(["aaa", "b", "cc"], dtype=object)

    def letters(text):
        return Dataset.from_tensor_slices(np.array([*text.item()], dtype=object))

    found = Dataset.from_tensor_slices(texts).interleave(letters, cycle, block)
    assert "".join(one.item() for one in found) == wanted


def test_interleave_of_empty_datasets_ends():
    assert listed(Dataset.range(5).interleave(lambda x: Dataset.range(0), 2)) == []
    assert listed(Dataset.range(0).interleave(lambda x: Dataset.range(1), 2)) == []


def test_zip_ends_with_the_shortest_and_takes_nests():
    pairs = Dataset.zip((Dataset.range(3), Dataset.range(10, 12)))
    assert [tuple(map(int, one)) for one in pairs] == [(0, 10), (1, 11)]
    (one,) = Dataset.zip({"a": Dataset.range(1), "b": (Dataset.range(5), Dataset.range(6))})
    assert one == {"a": 0, "b": (0, 0)}


def test_shards_are_every_so_manyth_element():
    assert listed(Dataset.range(7).shard(3, 1)) == [1, 4]
    assert listed(Dataset.range(7).shard(1, 0)) == list(range(7))
    for wrong in ((0, 0), (2, 2), (2, -1), (-2, 0), (1.0, 0), (2, True)):
        with pytest.raises(InvalidArgument, match="shard takes a"):
            Dataset.range(3).shard(*wrong)
    with pytest.raises(InvalidArgument, match=r"shard\(SHARD_HINT, 0\) has no number of shards before"):
        list(Dataset.range(3).shard(SHARD_HINT, 0))


# Batches.


@given(st.integers(0, 30), st.integers(1, 8), st.booleans())
def test_batches_hold_every_element_in_order(size, batch_size, drop):
    batches = listed(Dataset.range(size).batch(batch_size, drop_remainder=drop))
    kept = size - size % batch_size if drop else size
    assert [i for batch in batches for i in batch] == list(range(kept))
    assert [len(batch) for batch in batches[:-1]] == [batch_size] * (len(batches) - 1)
    if drop:
        assert all(len(batch) == batch_size for batch in batches)
    assert listed(Dataset.range(size).batch(batch_size, drop_remainder=drop).unbatch()) == list(range(kept))


def test_batching_keeps_dtype_and_stacks_every_leaf():
    dataset = Dataset.from_tensor_slices({"x": np.ones((5, 2), np.float16), "y": np.arange(5, dtype=np.uint8)}).batch(2)
    first, *_, last = dataset
    assert first["x"].shape == (2, 2)
    assert first["x"].dtype == np.float16
    assert first["y"].dtype == np.uint8
    assert last["x"].shape == (1, 2)


def test_settings_may_be_given_in_tensorflows_order():
    assert listed(Dataset.range(5).batch(2, True)) == [[0, 1], [2, 3]]
    again = Dataset.range(9).shuffle(9, 1, False).repeat(2)
    assert listed(again)[:9] == listed(again)[9:]


def test_batching_twice_batches_batches():
    assert listed(Dataset.range(8).batch(2).batch(2)) == [[[0, 1], [2, 3]], [[4, 5], [6, 7]]]


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ([np.zeros(1), np.zeros(2)], r"batch cannot stack rows of different shapes: \[\(1,\), \(2,\)\]"),
        ([np.float32(1), np.float64(1)], r"batch cannot stack rows of different dtypes: \['float32', 'float64'\]"),
        ([(1, 2), {"a": 1}], "batch cannot stack elements of different structure"),
    ],
)
def test_batching_what_does_not_fit_is_refused_with_what_there_is(rows, text):
    with pytest.raises(InvalidArgument, match=text):
        list(Dataset.from_generator(lambda: rows).batch(2))


def test_unbatching_scalars_and_unequal_rows_is_refused():
    with pytest.raises(InvalidArgument, match="element 0 has a scalar"):
        list(Dataset.range(2).unbatch())
    with pytest.raises(InvalidArgument, match=r"arrays of \[2, 3\] rows in element 0"):
        list(Dataset.from_tensors((np.arange(2), np.arange(3))).unbatch())


@pytest.mark.parametrize("size", [0, -1, 2.0, True, None, "2"])
def test_a_batch_size_is_a_whole_positive_number(size):
    with pytest.raises(InvalidArgument, match="at least 1, got"):
        Dataset.range(3).batch(size)


# Counts.


def test_numbers_may_be_numpys():
    four = np.int64(4)
    dataset = Dataset.range(four).repeat(np.int8(2)).skip(four).take(four).shard(np.int32(2), np.uint8(1)).batch(four)
    assert listed(dataset.shuffle(four, np.int64(1)).prefetch(four)) == [[1, 3]]


def test_repeat_starts_again_and_ends_each_round_with_its_short_batch():
    assert listed(Dataset.range(3).repeat(2)) == [0, 1, 2, 0, 1, 2]
    assert listed(Dataset.range(3).repeat(0)) == []
    assert listed(Dataset.range(3).batch(2).repeat(2)) == [[0, 1], [2], [0, 1], [2]]
    assert listed(Dataset.range(3).repeat(2).batch(2)) == [[0, 1], [2, 0], [1, 2]]


def test_repeat_without_a_count_has_no_end_and_of_nothing_ends_at_once():
    assert listed(Dataset.range(2).repeat().take(5)) == [0, 1, 0, 1, 0]
    assert listed(Dataset.range(2).repeat(-1).take(3)) == [0, 1, 0]
    assert listed(Dataset.range(0).repeat()) == []


def test_take_and_skip_count_and_minus_one_is_all():
    assert listed(Dataset.range(5).take(2)) == [0, 1]
    assert listed(Dataset.range(2).take(5)) == listed(Dataset.range(2).take(-1)) == [0, 1]
    assert listed(Dataset.range(5).skip(2)) == [2, 3, 4]
    assert listed(Dataset.range(2).skip(5)) == listed(Dataset.range(2).skip(-1)) == []


@pytest.mark.parametrize("count", [-2, 1.0, "2", True])
@pytest.mark.parametrize("step", ["repeat", "take", "skip", "prefetch"])
def test_counts_are_whole_numbers(step, count):
    with pytest.raises(InvalidArgument, match=f"{step} takes a count of at least 0, or -1 for all, got {count!r}"):
        getattr(Dataset.range(3), step)(count)


def test_nothing_is_drawn_beyond_what_is_asked_for():
    asked = []
    assert listed(counted(asked).take(2)) == [0, 1]
    assert asked == [0, 1]
    asked.clear()
    next(iter(counted(asked).batch(2).prefetch(3).map(lambda x: x)))
    assert asked == [0, 1]


def test_input_without_end_is_held_in_bounded_memory():
    endless = Dataset.range(3).repeat().map(lambda x: x + 1).shuffle(4, 1).batch(2).filter(lambda x: x[0] > 0)
    found = [number for batch in islice(endless, 200) for number in batch.tolist()]
    assert sorted(set(found)) == [1, 2, 3]


# Shuffles.


@given(st.integers(0, 20), st.integers(1, 25), st.integers(0, 5))
def test_a_shuffle_with_a_seed_permutes_within_its_buffer(size, buffer, seed):
    found = listed(Dataset.range(size).shuffle(buffer, seed))
    assert sorted(found) == list(range(size))
    assert all(number < place + buffer for place, number in enumerate(found))
    assert found == listed(Dataset.range(size).shuffle(buffer, seed))


def test_a_seed_decides_the_order_and_each_round_has_another():
    first, second = (listed(Dataset.range(50).shuffle(50, seed)) for seed in (1, 2))
    assert first != second
    rounds = listed(Dataset.range(50).shuffle(50, 1).repeat(2))
    assert rounds[:50] != rounds[50:]
    same = listed(Dataset.range(50).shuffle(50, 1, reshuffle_each_iteration=False).repeat(2))
    assert same[:50] == same[50:]


def test_without_a_seed_and_a_strategy_elements_come_in_order():
    assert listed(Dataset.range(9).shuffle(4)) == list(range(9))


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((0,), "shuffle takes a buffer_size of at least 1"),
        ((2, "seed"), "shuffle takes an int as seed"),
        ((2, True), "shuffle takes an int as seed"),
    ],
)
def test_a_shuffle_wants_whole_numbers(arguments, text):
    with pytest.raises(InvalidArgument, match=text):
        Dataset.range(3).shuffle(*arguments)
    with pytest.raises(InvalidArgument, match="shuffle can repeat its order only with a seed"):
        Dataset.range(3).shuffle(2, reshuffle_each_iteration=False)


# Memory and options.


def test_a_cache_asks_once_and_keeps_nothing_of_an_iteration_that_was_broken_off():
    asked = []
    cached = counted(asked, 3).cache()
    next(iter(cached))
    assert listed(cached) == [0, 1, 2]
    assert asked == [0, 0, 1, 2]
    assert listed(cached.repeat(2)) == [0, 1, 2, 0, 1, 2]
    assert asked == [0, 0, 1, 2]


def test_elements_are_read_only_so_that_no_function_can_change_the_data():
    data = np.arange(3)
    for dataset in (Dataset.from_tensor_slices(data), Dataset.from_tensors(data), Dataset.range(3).batch(3).cache()):
        with pytest.raises(ValueError, match="read-only"):
            list(dataset.map(lambda x: np.add(x, 1, out=x)))
    assert data.tolist() == [0, 1, 2]
    data[0] = 7
    assert next(iter(Dataset.from_tensor_slices(data))) == 7


def test_options_change_no_element_and_want_to_be_options():
    assert listed(Dataset.range(2).with_options(Options())) == [0, 1]
    with pytest.raises(InvalidType, match=r"with_options takes simstrategy\.data\.Options"):
        Dataset.range(2).with_options({"auto_shard_policy": "OFF"})
    with pytest.raises(InvalidType, match=r"auto_shard_policy is one of AutoShardPolicy.OFF, .* got 'OFF'"):
        Options(auto_shard_policy="OFF")
    with pytest.raises(InvalidType, match=r"split_rule is one of SplitRule.PER_BATCH, SplitRule.STREAM, got 3"):
        Options(split_rule=3)


def test_a_dataset_is_iterated_anew_each_time_and_by_several_at_once():
    dataset = Dataset.range(4).batch(2)
    assert listed(dataset) == listed(dataset)
    one, other = iter(dataset), iter(dataset)
    assert next(one).tolist() == next(other).tolist() == [0, 1]
    assert next(one).tolist() == [2, 3]
    assert next(other).tolist() == [2, 3]


def test_a_dataset_shows_its_steps_the_same_way_in_every_run():
    numbers = Dataset.range(9).shuffle(3, 1).batch(2)
    assert repr(numbers) == "Dataset(range → shuffle → batch)"
    assert repr(TextLineDataset([]).batch(1)) == "Dataset(from_tensor_slices → a reader → batch)"
    assert repr(Dataset.zip((numbers, Dataset.range(3))).map(lambda x, y: x)) == (
        "Dataset((range → shuffle → batch, range) → zip → map)"
    )


def test_a_step_leaves_the_dataset_before_it_alone():
    numbers = Dataset.range(4)
    numbers.batch(2)
    numbers.take(1)
    assert listed(numbers) == [0, 1, 2, 3]


@pytest.mark.parametrize("step", ["map", "filter", "flat_map"])
def test_a_function_is_something_that_can_be_called(step):
    with pytest.raises(InvalidType, match=f"{step} takes a function of an element, got 3"):
        getattr(Dataset.range(2), step)(3)
    with pytest.raises(InvalidArgument, match="interleave takes a cycle_length of at least 1, got 0"):
        Dataset.range(2).interleave(lambda x: Dataset.range(1), 0)


# Forms.


@pytest.mark.parametrize(
    ("dataset", "spec"),
    [
        (Dataset.range(2), ElementSpec((), "int64")),
        (Dataset.range(9).batch(2), ElementSpec((None,), "int64")),
        (Dataset.range(9).batch(2, drop_remainder=True), ElementSpec((2,), "int64")),
        (Dataset.range(9).batch(2, drop_remainder=True).batch(3), ElementSpec((None, 2), "int64")),
        (Dataset.range(9).batch(2).unbatch(), ElementSpec((), "int64")),
        (Dataset.range(9).batch(2).map(lambda x: x * 1.5), ElementSpec((None,), "float64")),
        (Dataset.range(9).batch(2, drop_remainder=True).map(lambda x: x[:1]), ElementSpec((1,), "int64")),
        (Dataset.zip((Dataset.range(1), Dataset.range(1))), (ElementSpec((), "int64"),) * 2),
        (Dataset.range(3).flat_map(lambda x: Dataset.range(2).batch(2)), ElementSpec((None,), "int64")),
        (Dataset.from_tensor_slices({"a": np.ones((2, 3), np.int8)}), {"a": ElementSpec((3,), "int8")}),
        (Dataset.from_tensors(np.ones((2, 3))), ElementSpec((2, 3), "float64")),
        (Dataset.from_generator(lambda: [b"x"]).shuffle(3).repeat(), ElementSpec((), "string")),
    ],
)
def test_the_form_of_elements_is_known_before_they_come(dataset, spec):
    assert dataset.element_spec == spec


def test_the_form_of_nothing_is_not_known_where_a_function_makes_it():
    with pytest.raises(InvalidArgument, match="the dataset is empty"):
        _ = Dataset.range(0).map(lambda x: x).element_spec
