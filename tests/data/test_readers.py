"""Lines and records: what is read, and the errors for files that are missing, damaged or no files.

# Clauses: D-11
"""

import os
import sys

import numpy as np
import pytest

from simstrategy.data import Dataset, ElementSpec, TextLineDataset, TFRecordDataset
from simstrategy.errors import InvalidArgument, InvalidType, Unsupported

pytest.importorskip("google_crc32c")


def contents(dataset):
    return [one.item() for one in dataset]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (b"", []),
        (b"\n", [b""]),
        (b"a\nb", [b"a", b"b"]),
        (b"a\nb\n", [b"a", b"b"]),
        (b"a\rb\r\nc\n\nd\x00\r", [b"ab", b"c", b"", b"d\x00"]),
        (b"\xff\xfe\n", [b"\xff\xfe"]),
    ],
    ids=repr,
)
def test_lines_are_those_of_tensorflow_2_21(tmp_path, text, lines):
    (tmp_path / "a.txt").write_bytes(text)
    dataset = TextLineDataset(tmp_path / "a.txt")
    assert contents(dataset) == contents(dataset) == lines
    assert dataset.element_spec == ElementSpec((), "string")


def test_files_are_read_in_order_by_name_list_pattern_and_dataset(text_files, tmp_path):
    names = text_files(2, 0, 1)
    wanted = [b"f0-0", b"f0-1", b"f2-0"]
    assert contents(TextLineDataset(names)) == wanted
    assert contents(TextLineDataset(tuple(map(os.fsencode, names)))) == wanted
    assert contents(TextLineDataset(str(tmp_path / "f*.txt"))) == wanted
    assert contents(TextLineDataset(tmp_path / "f[02].txt")) == wanted
    assert contents(TextLineDataset(Dataset.from_tensor_slices(np.array(names)))) == wanted
    assert contents(Dataset.from_tensor_slices(names).flat_map(TextLineDataset)) == wanted
    assert contents(TextLineDataset([])) == []


def test_a_name_with_a_sign_of_patterns_is_a_name_where_there_is_such_a_file(tmp_path):
    (tmp_path / "a[1].txt").write_text("here\n")
    assert contents(TextLineDataset(str(tmp_path / "a[1].txt"))) == [b"here"]


def test_a_pattern_without_a_match_is_told_at_once(tmp_path):
    with pytest.raises(InvalidArgument, match=r"TextLineDataset: no file matches '.*\*\.txt'\. Correct the pattern"):
        TextLineDataset(f"{tmp_path}/*.txt")


@pytest.mark.parametrize("wrong", [3, None, [3], ["a", None]], ids=repr)
def test_what_names_no_file_is_refused(wrong):
    with pytest.raises(InvalidType, match="TextLineDataset takes a file name, a pattern, a list of names or a dataset"):
        TextLineDataset(wrong)


@pytest.mark.parametrize("names", [Dataset.range(2), Dataset.from_tensors([b"a", b"b"])], ids=["numbers", "batches"])
def test_a_dataset_of_what_is_no_name_is_refused_when_its_turn_comes(names):
    with pytest.raises(InvalidType, match="TFRecordDataset needs a dataset of file names, and got array"):
        list(TFRecordDataset(names))


@pytest.mark.parametrize("reader", [TextLineDataset, TFRecordDataset])
def test_a_missing_file_is_named_when_its_turn_comes(reader, tmp_path):
    empty = tmp_path / "empty"
    empty.write_bytes(b"")
    missing = reader([empty, tmp_path / "gone"])
    with pytest.raises(InvalidArgument, match=f"{reader.__name__}: there is no file '.*gone'. Correct the list"):
        list(missing)
    with pytest.raises(InvalidArgument, match=r"cannot read '.*': Is a directory. Correct the list"):
        list(reader([tmp_path]))
    assert list(reader(empty)) == []


RECORDS = bytes.fromhex(
    "0400000000000000424552046f6e6500837eee0a000000000000000029039807d8ea82a20500000000000000eab2043effffffffffdd8fdffb"
)
"""Written by TensorFlow 2.21.0: b"one\\0", b"" and five bytes 255."""


@pytest.fixture
def records(tmp_path):
    def write(data):
        (tmp_path / "a.tfrecord").write_bytes(data)
        return TFRecordDataset(tmp_path / "a.tfrecord")

    return write


def test_records_that_tensorflow_wrote_are_read_to_the_last_byte(records):
    assert contents(records(RECORDS)) == [b"one\0", b"", b"\xff" * 5]
    assert contents(records(RECORDS * 2).skip(4)) == [b"", b"\xff" * 5]


@pytest.mark.parametrize("size", range(1, len(RECORDS)))
def test_a_truncated_file_yields_its_whole_records_and_then_names_record_and_byte(records, size):
    starts = [0, 20, 36]
    number = sum(size > start for start in starts) - 1
    if size in starts:
        assert len(list(records(RECORDS[:size]))) == starts.index(size)
        return
    found = []
    with pytest.raises(InvalidArgument) as raised:
        found.extend(records(RECORDS[:size]))
    assert f"a.tfrecord', record {number} at byte {starts[number]} ends after" in str(raised.value)
    assert "Write the file again, or leave it out." in str(raised.value)


@pytest.mark.parametrize("place", range(len(RECORDS)))
def test_any_flipped_bit_is_damage(records, place):
    damaged = bytearray(RECORDS)
    damaged[place] ^= 1
    with pytest.raises(InvalidArgument, match=r"record \d at byte \d+ .*(checksum is wrong)"):
        list(records(bytes(damaged)))


def test_a_promised_length_beyond_the_file_asks_for_no_memory(records):
    import struct

    import google_crc32c

    def masked(data):
        crc = google_crc32c.value(data)
        return struct.pack("<I", (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF)

    head = struct.pack("<Q", 1 << 39)
    with pytest.raises(
        InvalidArgument, match=r"record 0 at byte 0 ends after 3 of 549755813892 bytes: it is truncated"
    ):
        list(records(head + masked(head) + b"abc"))
    head = struct.pack("<Q", 1 << 60)
    with pytest.raises(InvalidArgument, match="whose checksum is wrong"):
        list(records(head + masked(head) + b"abc"))


def test_without_the_library_the_extra_is_named(records, monkeypatch):
    monkeypatch.setitem(sys.modules, "google_crc32c", None)
    with pytest.raises(Unsupported, match=r"pip install 'simstrategy\[tfrecord\]'"):
        list(records(RECORDS))
