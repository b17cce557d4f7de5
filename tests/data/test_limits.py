"""Sizes, files and texts that no dataset can have are refused with an error of ours, or cost nothing.

# Clauses: D-9, D-11
"""

import os
import socket
import tracemalloc

import numpy as np
import pytest

from simstrategy.data import Dataset, TextLineDataset, TFRecordDataset
from simstrategy.errors import InvalidArgument, InvalidType

READERS = pytest.mark.parametrize("reader", [TextLineDataset, TFRecordDataset])
HUGE = 10**20


@pytest.mark.parametrize(
    "make",
    [
        lambda d: d.batch(HUGE),
        lambda d: d.shuffle(HUGE),
        lambda d: d.repeat(HUGE),
        lambda d: d.take(HUGE),
        lambda d: d.skip(HUGE),
        lambda d: d.prefetch(HUGE),
        lambda d: d.shard(HUGE, 0),
        lambda d: d.interleave(Dataset.from_tensors, HUGE),
        lambda d: d.interleave(Dataset.from_tensors, 1, HUGE),
    ],
)
def test_a_size_of_more_than_64_bits_is_refused_where_it_is_given(make):
    with pytest.raises(InvalidArgument, match=r"takes a \w+ below 2\*\*63, got an int of 67 bits. Pass a smaller one"):
        make(Dataset.range(3))


LARGE = 10**9


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda d: d.interleave(Dataset.from_tensors, LARGE), [0, 1, 2]),
        (lambda d: d.interleave(Dataset.range, 2**62), [0, 0, 1]),
        (lambda d: d.interleave(lambda x: Dataset.from_tensors(x).repeat(2), LARGE, LARGE), [0, 0, 1, 1, 2, 2]),
        (lambda d: d.batch(LARGE), [[0, 1, 2]]),
        (lambda d: d.map(lambda x: x).batch(2**62), [[0, 1, 2]]),
        (lambda d: d.map(lambda x: x).batch(2**62, drop_remainder=True), []),
        (lambda d: d.shuffle(LARGE, seed=1).filter(lambda x: x < 1), [0]),
        (lambda d: d.skip(LARGE), []),
        (lambda d: d.take(LARGE), [0, 1, 2]),
    ],
)
def test_a_size_beyond_the_data_costs_nothing(make, expected):
    tracemalloc.start()
    try:
        assert [one.tolist() for one in make(Dataset.range(3))] == expected
        assert tracemalloc.get_traced_memory()[1] < 300 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("cycle", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("block", [1, 2, 3])
def test_interleave_fills_a_slot_again_at_its_next_turn(cycle, block):
    lengths = [2, 0, 3, 1, 0, 5, 1]

    def expected():
        """Counts with a slot for every place of the cycle."""
        waiting, slots, turn = list(range(len(lengths))), [None] * cycle, 0
        while waiting or any(slots):
            if not slots[turn] and slots[turn] is None and waiting:
                number = waiting.pop(0)
                slots[turn] = [10 * number + one for one in range(lengths[number])]
            for _ in range(block):
                if slots[turn] is None:
                    break
                if not slots[turn]:
                    slots[turn] = None
                    break
                yield slots[turn].pop(0)
            turn = (turn + 1) % cycle

    made = Dataset.range(len(lengths)).interleave(
        lambda x: Dataset.range(10 * int(x), 10 * int(x) + lengths[int(x)]), cycle, block
    )
    assert [int(one) for one in made] == list(expected())


@READERS
def test_what_is_no_regular_file_is_refused_and_not_waited_for(reader, tmp_path):
    pipe, channel = tmp_path / "pipe", tmp_path / "socket"
    os.mkfifo(pipe)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(channel))
        for path, what in ((pipe, "a pipe"), (channel, "a socket"), ("/dev/zero", "a device")):
            with pytest.raises(InvalidArgument, match=f"cannot read .*: it is {what}, not a regular file. Correct"):
                next(iter(reader(path)))
    link, file = tmp_path / "link", tmp_path / "file"
    file.write_bytes(b"")
    link.symlink_to(file)
    assert list(reader(link)) == []


@READERS
@pytest.mark.parametrize("name", ["\ud800", "\ud800*", "a\0*"])
def test_a_name_that_no_file_can_have_is_refused(reader, name):
    for make in (lambda: reader(name), lambda: reader([name]), lambda: reader(Dataset.from_tensors(name))):
        with pytest.raises(InvalidArgument, match=f"{reader.__name__}: .* is not a file name: it contains a"):
            list(make())


@pytest.mark.parametrize("value", [None, 3.0, "a"])
def test_an_array_without_dimensions_is_no_dataset(value, mirrored):
    with pytest.raises(InvalidType, match="an iterable of batches, got an array without dimensions"):
        mirrored(2).experimental_distribute_dataset(np.array(value))


@pytest.mark.parametrize(
    "texts",
    [
        ["a", None],
        ["a", 3],
        [3, "a"],
        np.array(["a", None], object),
        np.array([["a"], [3]], object),
        [None],
        [[1], None],
    ],
    ids=str,
)
def test_texts_with_something_else_among_them_are_refused(texts):
    for make in (
        lambda: Dataset.from_tensor_slices(texts),
        lambda: list(Dataset.range(1).map(lambda x: texts)),
        lambda: list(Dataset.from_generator(lambda: [texts])),
    ):
        with pytest.raises((InvalidType, InvalidArgument), match="got"):
            make()


def test_a_batch_larger_than_the_data_is_split_like_any_other(mirrored):
    batch = mirrored(2).experimental_distribute_dataset(Dataset.range(4).batch(2**40))
    assert [[part.tolist() for part in step.values] for step in batch] == [[[0, 1], [2, 3]]]
