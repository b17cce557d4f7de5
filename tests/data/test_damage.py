"""Damaged, missing and misshapen inputs: each raises one message with what, where, and what to do.

# Clauses: D-1, D-11
"""

import doctest
import errno
import gzip
import os
import struct

import numpy as np
import pytest

import simstrategy as ss
from simstrategy import short_repr
from simstrategy.data import Dataset, SplitRule, TextLineDataset, TFRecordDataset
from simstrategy.errors import InvalidArgument, InvalidType

google_crc32c = pytest.importorskip("google_crc32c")

READERS = pytest.mark.parametrize("reader", [TextLineDataset, TFRecordDataset], ids=lambda one: one.__name__)

NO_LENGTH = "has a length whose checksum is wrong: it is damaged, or the file is compressed or no TFRecord."


def record(data):
    def masked(data):
        crc = google_crc32c.value(data)
        return struct.pack("<I", (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF)

    head = struct.pack("<Q", len(data))
    return head + masked(head) + data + masked(data)


def message(call, error=InvalidArgument):
    with pytest.raises(error) as raised:
        call()
    return str(raised.value)


def steps(dataset, rule=SplitRule.PER_BATCH):
    """All steps on two replicas; fails as a user's loop does."""
    distributed = ss.Strategy.mirrored("sim", replicas=2).experimental_distribute_dataset(
        dataset, ss.InputOptions(split_rule=rule)
    )
    return [[np.asarray(part).tolist() for part in step.values] for step in distributed]


# Files.


@pytest.fixture
def unprivileged():
    """Calls something as a user who may not read all files, as root may."""

    def call(function):
        if os.geteuid():
            return function()
        os.seteuid(65534)
        try:
            return function()
        finally:
            os.seteuid(0)

    return call


@READERS
def test_a_file_without_permission_is_named(reader, tmp_path, unprivileged):
    path = tmp_path / "secret"
    path.write_bytes(b"")
    path.chmod(0)
    text = unprivileged(lambda: message(lambda: list(reader(path))))
    assert text == f"{reader.__name__}: cannot read '{path}': Permission denied. Correct the list of files."


@READERS
def test_a_missing_file_is_named(reader, tmp_path):
    path = tmp_path / "gone"
    assert message(lambda: list(reader(path))) == (
        f"{reader.__name__}: there is no file '{path}'. Correct the list of files."
    )
    assert message(lambda: list(reader(""))) == f"{reader.__name__}: there is no file ''. Correct the list of files."


@READERS
def test_a_directory_is_named(reader, tmp_path):
    wanted = f"{reader.__name__}: cannot read '{tmp_path}': {os.strerror(errno.EISDIR)}. Correct the list of files."
    assert message(lambda: list(reader(tmp_path))) == wanted


@READERS
def test_a_link_to_itself_and_a_name_below_a_file_are_named(reader, tmp_path):
    loop, below = tmp_path / "loop", tmp_path / "file" / "below"
    loop.symlink_to(loop)
    below.parent.write_bytes(b"")
    for path, number in ((loop, errno.ELOOP), (below, errno.ENOTDIR)):
        wanted = f"{reader.__name__}: cannot read '{path}': {os.strerror(number)}. Correct the list of files."
        assert message(lambda path=path: list(reader(path))) == wanted


@READERS
def test_a_file_that_opens_and_cannot_be_read_is_named(reader):
    path = "/proc/self/mem"
    if not os.path.exists(path):
        pytest.skip("no file here that opens and cannot be read")
    wanted = f"{reader.__name__}: cannot read '{path}': {os.strerror(errno.EIO)}. Correct the list of files."
    assert message(lambda: list(reader(path))) == wanted


@READERS
def test_a_pattern_without_a_match_is_told_before_anything_is_read(reader, tmp_path):
    assert message(lambda: reader(tmp_path / "*.txt")) == (
        f"{reader.__name__}: no file matches '{tmp_path}/*.txt'. Correct the pattern, or check the working directory."
    )


@READERS
@pytest.mark.parametrize(
    ("names", "named"),
    [({"b", "a"}, "a set of 'a', 'b'"), (frozenset("a"), "a frozenset of 'a'"), (3, "3"), ([["a"]], "[['a']]")],
    ids=["set", "frozenset", "number", "nested"],
)
def test_names_without_an_order_and_what_is_no_name_are_refused(reader, names, named):
    assert message(lambda: reader(names), InvalidType) == (
        f"{reader.__name__} takes a file name, a pattern, a list of names or a dataset of names, got {named}."
    )


@READERS
def test_a_name_with_a_null_character_is_refused(reader):
    assert message(lambda: list(reader("a\0b"))) == (
        f"{reader.__name__}: 'a\\x00b' is not a file name: it contains a null character. Correct the list of files."
    )


@READERS
def test_an_empty_file_has_nothing_and_is_no_error(reader, tmp_path):
    (tmp_path / "empty").write_bytes(b"")
    assert list(reader(tmp_path / "empty")) == []
    assert steps(reader(tmp_path / "empty").batch(2)) == []


# Records.


@pytest.fixture
def damaged(tmp_path):
    """Writes a file of two records, changed; returns the message when two replicas read it."""
    path = tmp_path / "a.tfrecord"
    whole = record(b"first one") + record(b"x" * 100)

    def message_of(change):
        path.write_bytes(change(whole))
        return message(lambda: steps(TFRecordDataset(path).batch(1))).replace(str(tmp_path), "folder")

    return message_of


def flipped(data, place):
    changed = bytearray(data)
    changed[place] ^= 0x10
    return bytes(changed)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda whole: whole[:-1], "record 1 at byte 25 ends after 103 of 104 bytes: it is truncated."),
        (lambda whole: whole[:60], "record 1 at byte 25 ends after 23 of 104 bytes: it is truncated."),
        (lambda whole: whole[:30], "record 1 at byte 25 ends after 5 of the 12 bytes of a record's head."),
        (lambda whole: whole[:20], "record 0 at byte 0 ends after 8 of 13 bytes: it is truncated."),
        (lambda whole: flipped(whole, 50), "record 1 at byte 25 has 100 bytes whose checksum is wrong: it is damaged."),
        (lambda whole: flipped(whole, -1), "record 1 at byte 25 has 100 bytes whose checksum is wrong: it is damaged."),
        (
            lambda whole: flipped(whole, 26),
            f"record 1 at byte 25 {NO_LENGTH}",
        ),
        (
            gzip.compress,
            f"record 0 at byte 0 {NO_LENGTH}",
        ),
    ],
    ids=["last byte", "in the data", "in the head", "the first", "flipped", "flipped sum", "flipped length", "packed"],
)
def test_a_damaged_record_is_named_by_file_number_and_byte(damaged, change, what):
    wanted = f"TFRecordDataset: 'folder/a.tfrecord', {what} Write the file again, or leave it out."
    assert damaged(change) == wanted


def test_the_records_before_the_damage_arrive(tmp_path):
    path = tmp_path / "a.tfrecord"
    path.write_bytes(record(b"1") + record(b"2") + record(b"3")[:-2])
    strategy = ss.Strategy.mirrored("sim", replicas=2)
    iterator = iter(strategy.experimental_distribute_dataset(TFRecordDataset(path).batch(2)))
    assert [part.tolist() for part in next(iterator).values] == [[b"1"], [b"2"]]
    with pytest.raises(InvalidArgument, match="record 2 at byte 34"):
        next(iterator)


# Shapes.


@pytest.mark.parametrize("rule", SplitRule)
def test_unbatched_scalars_are_refused_with_their_number(rule):
    assert message(lambda: steps(Dataset.range(3), rule)) == (
        "Element 0 of the dataset is a scalar int64: input shape should have at least one dimension. Perhaps your "
        "input dataset is not batched? Call .batch(global_batch_size) on it."
    )


def test_ragged_rows_are_refused_where_they_are_put_together():
    rows = Dataset.range(1, 4).map(lambda size: np.arange(int(size)))
    assert message(lambda: steps(rows.batch(2))) == (
        "batch cannot stack rows of different shapes: [(1,), (2,)]. Pad them to one shape first."
    )
    batches = [np.ones((4, 2)), np.ones((1, 2)), np.ones((4, 3))]
    assert len(steps(batches)) == 3
    assert message(lambda: steps(batches, SplitRule.STREAM)) == (
        "the stream of batches cannot join rows of different shapes: [(1, 2), (1, 3)]. Pad them to one shape first."
    )


def test_rows_of_unequal_length_in_a_list_are_refused():
    text = message(lambda: Dataset.from_tensor_slices([[1, 2], [3]]))
    assert text.startswith("from_tensor_slices got rows of unequal length: ")
    assert text.endswith(". Pad them to one shape first.")
    assert message(lambda: Dataset.from_tensor_slices(["a", 1]), InvalidType) == (
        "from_tensor_slices got a list: ['a', 1], which NumPy can only hold as an object. Elements are nests of arrays "
        "of numbers or texts: convert it first."
    )


def test_batches_without_rows_are_steps_of_empty_parts_or_flow_away():
    nothing, three = np.zeros((0, 2)), np.ones((3, 2))
    rows = three.tolist()
    assert steps([nothing, three, nothing]) == [[[], []], [rows[:2], rows[2:]], [[], []]]
    assert steps([three, nothing, three], SplitRule.STREAM)[0] == [rows[:2], rows[2:]]
    assert steps([nothing], SplitRule.STREAM) == []


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: Dataset.from_tensors(object()), "from_tensors got a object: <object object>, which NumPy can only"),
        (lambda: Dataset.from_tensors({"b", "a"}), "from_tensors got a set of 'a', 'b', which is no array. Elements"),
        (lambda: Dataset.from_generator(iter([1])), "can be iterated again, got <list_iterator object>. Give the"),
        (lambda: Dataset.zip((Dataset.range(2), 3)), "Dataset.zip((a, b)), got (Dataset(range), 3)."),
        (
            lambda: Dataset.range(2).with_options(Dataset.range(3)),
            "takes simstrategy.data.Options, got Dataset(range).",
        ),
    ],
)
def test_a_value_is_told_in_the_same_words_in_every_run(call, text):
    assert text in message(call, InvalidType)


def test_the_examples_of_short_repr_hold():
    assert doctest.testmod(short_repr) == (0, 5)


def test_a_batch_of_no_rows_cannot_be_asked_for():
    assert message(lambda: Dataset.range(3).batch(0)) == (
        "batch takes a batch_size of at least 1, got 0. Pass an int, for example 2."
    )


@pytest.mark.parametrize(
    ("limits", "error", "text"),
    [
        ((), InvalidType, "range takes one to three ints, as Python's does, got (): "),
        ((3.5,), InvalidType, "range takes one to three ints, as Python's does, got (3.5): "),
        ((0, 4, 0), InvalidArgument, "range takes a step that is not 0, got (0, 4, 0)."),
        ((2**63 + 1,), InvalidArgument, f"range makes int64 numbers, and ({2**63 + 1}) goes beyond them"),
        ((-(2**63) - 1, 0), InvalidArgument, "range makes int64 numbers, and (-9223372036854775809, 0) goes"),
    ],
)
def test_a_range_that_is_none_is_refused_at_once(limits, error, text):
    assert message(lambda: Dataset.range(*limits), error).startswith(text)


def test_numbers_that_are_none_and_sizes_beyond_all_data_are_no_errors():
    assert str(steps([np.array([np.nan, np.inf])])) == "[[[nan], [inf]]]"
    assert [len(batch) for batch in Dataset.range(5).batch(1 << 40)] == [5]
    assert len(list(Dataset.range(5).shuffle(1 << 40, 1))) == 5
    assert int(next(iter(Dataset.range(1 << 60).skip(3)))) == 3
