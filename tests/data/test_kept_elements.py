"""Elements are what the user's code gave when it gave it: later writes to its arrays change none.

# Clauses: D-17
"""

import importlib.util
from array import array
from contextlib import closing

import numpy as np
import pytest

import simstrategy as ss
from simstrategy.data import Dataset, SplitRule, elements
from simstrategy.errors import InvalidType

BACKENDS = ("sim", "torch", "tensorflow", "xla")


def numbers(elements):
    return [np.asarray(one).tolist() for one in elements]


def filled_again(count=6):
    """Yields one array, again and again, as loaders do."""
    buffer = np.zeros((), np.int64)
    for number in range(count):
        buffer[...] = number
        yield buffer


def rows_again(count=3):
    buffer = np.zeros(2, np.int64)
    for number in range(count):
        buffer[...] = (2 * number, 2 * number + 1)
        yield buffer


def generated():
    return Dataset.from_generator(filled_again)


def mapped():
    buffer = np.zeros((), np.int64)

    def write(x):
        buffer[...] = x
        return buffer

    return Dataset.range(6).map(write)


SOURCES = pytest.mark.parametrize("source", [generated, mapped])
EACH = [0, 1, 2, 3, 4, 5]


@SOURCES
@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        (lambda d: d, EACH),
        (lambda d: d.batch(3), [[0, 1, 2], [3, 4, 5]]),
        (lambda d: d.batch(4), [[0, 1, 2, 3], [4, 5]]),
        (lambda d: d.shuffle(4), EACH),
        (lambda d: d.cache(), EACH),
        (lambda d: d.prefetch(2), EACH),
        (lambda d: d.take(4).skip(1), [1, 2, 3]),
        (lambda d: d.shard(2, 1), [1, 3, 5]),
        (lambda d: d.repeat(2).batch(12), [EACH + EACH]),
        (lambda d: d.filter(lambda x: x != 3).batch(5), [[0, 1, 2, 4, 5]]),
        (lambda d: d.map(lambda x: x).batch(6), [EACH]),
        (lambda d: d.flat_map(Dataset.from_tensors).batch(6), [EACH]),
        (lambda d: d.interleave(Dataset.from_tensors, 3).batch(6), [EACH]),
        (lambda d: d.interleave(lambda x: Dataset.from_tensors(x).repeat(2), 2), [0, 1, 0, 1, 2, 3, 2, 3, 4, 5, 4, 5]),
    ],
)
def test_what_a_buffer_held_is_what_every_step_yields(source, steps, expected):
    assert numbers(steps(source())) == expected


def test_both_datasets_of_a_zip_may_fill_one_buffer():
    buffer = np.zeros((), np.int64)

    def fill(start):
        def generator():
            for number in range(start, start + 3):
                buffer[...] = number
                yield buffer

        return Dataset.from_generator(generator)

    pairs = [(int(one), int(other)) for one, other in Dataset.zip((fill(0), fill(10)))]
    assert pairs == [(0, 10), (1, 11), (2, 12)]


@SOURCES
def test_a_cache_yields_the_same_again(source):
    cached = source().cache()
    assert numbers(cached) == EACH
    assert numbers(cached) == EACH


def test_a_shuffle_yields_every_element_once():
    assert sorted(numbers(generated().shuffle(4, seed=1))) == EACH
    assert numbers(generated().shuffle(4, seed=1)) == numbers(Dataset.range(6).shuffle(4, seed=1))


def test_what_a_function_keeps_of_an_element_stays_as_it_was():
    kept = []

    def keep(x):
        kept.append(x)
        return x

    list(generated().map(keep).batch(3))
    assert numbers(kept) == EACH
    kept.clear()
    list(generated().filter(lambda x: keep(x) >= 0).batch(3))
    assert numbers(kept) == EACH


def test_an_array_that_is_changed_afterwards_changes_no_dataset():
    data, labels = np.arange(3), array("q", [7, 8, 9])
    sliced, whole = Dataset.from_tensor_slices({"x": data, "y": labels}), Dataset.from_tensors(data)
    nest = Dataset.from_tensor_slices((np.array(["a", "b"], object),))
    data[:], labels[0] = 5, 0
    assert [(int(row["x"]), int(row["y"])) for row in sliced] == [(0, 7), (1, 8), (2, 9)]
    assert numbers(whole) == [[0, 1, 2]]
    assert [one.item() for (one,) in nest] == ["a", "b"]


def test_texts_that_are_filled_again_stay(mirrored):
    def generator():
        buffer = np.empty(2, object)
        for number in range(3):
            buffer[:] = [f"{number}a", f"{number}b"]
            yield buffer

    strategy = mirrored(2)
    steps = list(strategy.experimental_distribute_dataset(Dataset.from_generator(generator)))
    assert [[one.tolist() for one in step.values] for step in steps] == [[[f"{n}a"], [f"{n}b"]] for n in range(3)]
    assert numbers(Dataset.from_generator(generator)) == [[f"{n}a", f"{n}b"] for n in range(3)]


def test_read_only_data_is_taken_as_it_is(tmp_path):
    data = np.ones((3, 2))
    np.save(tmp_path / "data.npy", data)
    mapped = np.load(tmp_path / "data.npy", mmap_mode="r")
    data.flags.writeable = False
    for given in (data, mapped, np.frombuffer(b"abcd", np.uint8)):
        (element,) = Dataset.from_tensors(given)
        assert np.shares_memory(element, given)
    behind = data.copy()
    view = behind.view()
    view.flags.writeable = False
    (element,) = Dataset.from_tensors(view)
    assert not np.shares_memory(element, behind)


def test_no_row_is_copied_on_its_way_to_a_batch_or_to_the_parts_of_one(mirrored, monkeypatch):
    copies = []
    can_change = elements.can_change
    monkeypatch.setattr(elements, "can_change", lambda array: copies.append(1) or can_change(array))
    assert numbers(generated().batch(3)) == [[0, 1, 2], [3, 4, 5]]
    options = ss.InputOptions(split_rule=SplitRule.PER_BATCH)
    distributed = mirrored(2).experimental_distribute_dataset(Dataset.from_generator(rows_again), options)
    assert [numbers(step.values) for step in distributed] == [[[0], [1]], [[2], [3]], [[4], [5]]]
    assert not copies


@pytest.mark.parametrize("name", BACKENDS)
@pytest.mark.parametrize("rule", [SplitRule.PER_BATCH, SplitRule.STREAM], ids=lambda rule: rule.name)
@pytest.mark.parametrize("replicas", [1, 2, 3])
def test_replicas_receive_what_each_batch_held(name, rule, replicas):
    if importlib.util.find_spec(f"simstrategy_{name}") is None and name != "sim":
        pytest.skip(f"{name} is not installed")

    def batches():
        # By the stream rule, parts are made of rows of two batches.
        buffer = np.zeros(4, np.int32)
        for number, size in enumerate((3, 4, 4, 1)):
            buffer[:] = number
            yield buffer[:size]

    with closing(ss.Strategy.mirrored(name, replicas=replicas)) as strategy:
        for data in (Dataset.from_generator(batches), batches()):
            options = ss.InputOptions(split_rule=rule)
            held = list(strategy.experimental_distribute_dataset(data, options))
            steps = [[np.asarray(one).tolist() for one in strategy.experimental_local_results(step)] for step in held]
            found = [row for step in steps for part in step for row in part]
            assert found == [0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3]


def test_input_functions_may_fill_one_array(mirrored, steps_of):
    buffer = np.zeros(2, np.int64)

    def once():
        buffer[:] += 1
        return buffer

    strategy = mirrored(2)
    iterator = strategy.make_input_fn_iterator(lambda context: once)
    assert [numbers(iterator.get_next().values) for _ in range(2)] == [[[1, 1], [2, 2]], [[3, 3], [4, 4]]]
    distributed = strategy.distribute_datasets_from_function(lambda context: Dataset.from_generator(rows_again))
    assert steps_of(strategy, distributed)[:1] == [[[0, 1], [2, 3]]]


@pytest.mark.parametrize("masked", [np.ma.array([1.0, 2.0], mask=[0, 1]), [np.ma.array([1.0, 2.0], mask=[0, 1])]])
def test_a_masked_array_is_refused_because_its_mask_would_be_lost(masked, mirrored):
    refusal = pytest.raises(InvalidType, match=r"got a masked array, and its mask would be lost.*x.filled\(0\)")
    calls = [
        lambda: Dataset.from_tensor_slices(masked),
        lambda: list(Dataset.range(1).map(lambda x: masked)),
        lambda: ss.Variable(masked),
        lambda: mirrored(2).xp.asarray(masked),
        lambda: mirrored(2).run(lambda: ss.get_replica_context().all_reduce("SUM", masked[0])),
    ]
    for call in calls[: 5 if isinstance(masked, list) else 4]:
        with refusal:
            call()
