"""Datasets of what is in files: lines of text, and TensorFlow's records.  It writes nothing and unpacks nothing.

A reader's input is the pipeline of its file names, so that files can be dealt to workers before they are opened.
"""

import os
import struct
from collections.abc import Callable, Iterator, Sequence
from glob import glob
from typing import Any, BinaryIO, Final, NoReturn

import numpy as np

from simstrategy.data.dataset import Dataset
from simstrategy.data.elements import ElementSpec, Host
from simstrategy.data.nodes import Elements, Iteration, Node, NodeType
from simstrategy.data.short_repr import short_repr
from simstrategy.errors import InvalidArgument, InvalidType, Unsupported

__all__ = ["READ", "Open", "TFRecordDataset", "TextLineDataset", "lines_of"]

Files = str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | Host | Dataset
Format = Callable[[BinaryIO, str], Iterator[bytes]]
"""Yields what one open file holds; the text is its name, for errors."""
Open = Callable[[str], BinaryIO]
"""Opens a file by name; raises OSError."""

_HEAD: Final = struct.Struct("<QI")
"""A record's length in bytes, and the checksum of these eight bytes."""
_LENGTH_BYTES: Final = 8
_CHECKSUM: Final = struct.Struct("<I")
_BUFFER_BYTES: Final = 1 << 18
_CHUNK_BYTES: Final = 1 << 24
"""More than this is not asked for at once: a damaged length may promise any number of bytes."""
_RECORD_BYTES_MAX: Final = 1 << 40
"""A length beyond this, in bytes, is damage, even if its checksum fits: no memory holds such a record."""


def TextLineDataset(files: Files) -> Dataset:  # noqa: N802 - TensorFlow's spelling
    """Makes a dataset of the lines of text files, file by file: bytes, without ends of lines and carriage returns.

    files: a name, a pattern such as "train-*.txt" (sorted), a list of names, or a dataset of names. A last line
    needs no end; an empty file has no line. Raises InvalidArgument for a pattern without a match, and, when the
    file's turn comes, for one that cannot be read. Clauses: D-11. Source: TensorFlow 2.21.0, as measured.
    """
    return _reader(files, _lines, "TextLineDataset")


def TFRecordDataset(files: Files) -> Dataset:  # noqa: N802 - TensorFlow's spelling
    """Makes a dataset of the records of TFRecord files, file by file: bytes, as they were written, not parsed.

    files: as `TextLineDataset`'s. Needs the extra `tfrecord`. Raises InvalidArgument, when its turn comes, for a
    file that cannot be read, and for a damaged or truncated record, with its number and offset in bytes.
    Source of the format: TensorFlow, "TFRecord and tf.train.Example": length, masked CRC-32C of the length,
    data, masked CRC-32C of the data; numbers little-endian. Clauses: D-11.
    """
    return _reader(files, _records, "TFRecordDataset")


def lines_of(names: Dataset, opened: Open) -> Dataset:
    """Makes a dataset of the lines of files that are opened in another way than from disk."""
    return Dataset(Node(READ, (names.node,), (_lines, opened, "lines_of")))


def _reader(files: Files, form: Format, name: str) -> Dataset:
    names = files if isinstance(files, Dataset) else Dataset.from_tensor_slices(_names(files, name))
    return Dataset(Node(READ, (names.node,), (form, _from_disk, name)))


def _from_disk(path: str) -> BinaryIO:
    return open(path, "rb", buffering=_BUFFER_BYTES)


def _names(files: Any, reader: str) -> Host:
    if isinstance(files, (str, os.PathLike)):
        one = os.fspath(files)
        found = [one] if not _is_pattern(one) or os.path.exists(one) else sorted(glob(one))
        if not found:
            raise InvalidArgument(
                f"{reader}: no file matches {one!r}. Mend the pattern, or look where the program runs."
            )
    else:
        try:
            if isinstance(files, (set, frozenset)):
                # In which order they come, and to which worker, would be chance.
                raise TypeError
            # An element of a dataset of names is an array without dimensions.
            found = [os.fspath(one) for one in (files.reshape(-1).tolist() if isinstance(files, np.ndarray) else files)]
        except TypeError:
            raise InvalidType(
                f"{reader} takes a file name, a pattern, a list of names or a dataset of names, got "
                f"{short_repr(files)}."
            ) from None
    names = np.empty(len(found), object)
    names[:] = found
    return names


def _is_pattern(name: str) -> bool:
    return any(sign in name for sign in "*?[")


def _texts(node: Node, iteration: Iteration) -> Iterator[bytes]:
    for name in node.inputs[0].elements(iteration):
        yield from _contents(node.settings, name)


def _read(node: Node, iteration: Iteration) -> Elements:
    for text in _texts(node, iteration):
        array = np.array(text, dtype=object)
        array.flags.writeable = False
        yield array


def _path(name: Any, reader: str) -> str:
    if not isinstance(name, np.ndarray) or name.ndim or not isinstance(name.item(), (str, bytes)):
        raise InvalidType(f"{reader} reads files by name, and its dataset of names has {short_repr(name)}.")
    path = os.fsdecode(name.item())
    if "\0" in path:
        raise InvalidArgument(
            f"{reader}: {path!r} names no file: it has a null character in it. Mend the list of files."
        )
    return path


def _contents(settings: tuple[Format, Open, str], name: Any) -> Iterator[bytes]:
    """Yields what one file holds; every error of the system names it."""
    form, opened, reader = settings
    path = _path(name, reader)
    try:
        with opened(path) as file:
            yield from form(file, path)
    except FileNotFoundError as error:
        raise InvalidArgument(f"{reader}: there is no file {path!r}. Mend the list of files.") from error
    except OSError as error:
        raise InvalidArgument(f"{reader}: cannot read {path!r}: {error.strerror}. Mend the list of files.") from error


def _lines(file: BinaryIO, path: str) -> Iterator[bytes]:
    for line in file:
        yield line.removesuffix(b"\n").replace(b"\r", b"")


def _records(file: BinaryIO, path: str) -> Iterator[bytes]:
    checksum = _checksum()
    number = start = 0
    head = file.read(_HEAD.size)
    while head:
        if len(head) < _HEAD.size:
            _damaged(path, number, start, f"ends after {len(head)} of the {_HEAD.size} bytes of a record's head")
        size, sum_of_size = _HEAD.unpack(head)
        if _masked(checksum(head[:_LENGTH_BYTES])) != sum_of_size or size > _RECORD_BYTES_MAX:
            what = "has a length whose checksum is wrong: the record is damaged, or the file is no TFRecord, or packed"
            _damaged(path, number, start, what)
        data = file.read(size) if size <= _CHUNK_BYTES else _exactly(file, size)
        # Read with the next record's head, which saves a call for every record.
        tail = file.read(_CHECKSUM.size + _HEAD.size)
        if len(data) < size or len(tail) < _CHECKSUM.size:
            found = f"{len(data) + len(tail)} of {size + _CHECKSUM.size} bytes"
            _damaged(path, number, start, f"ends after {found}: it is truncated")
        if _masked(checksum(data)) != _CHECKSUM.unpack_from(tail)[0]:
            _damaged(path, number, start, f"has {size} bytes whose checksum is wrong: it is damaged")
        yield data
        number += 1
        start += _HEAD.size + size + _CHECKSUM.size
        head = tail[_CHECKSUM.size :]


def _exactly(file: BinaryIO, size: int) -> bytes:
    """Reads so many bytes, or what there is: never asks for the memory that a damaged length promises."""
    parts = []
    while size > 0:
        part = file.read(min(size, _CHUNK_BYTES))
        if not part:
            break
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _damaged(path: str, number: int, start: int, what: str) -> NoReturn:
    raise InvalidArgument(
        f"TFRecordDataset: {path!r}, record {number} at byte {start} {what}. Write the file anew, or leave it out."
    )


def _checksum() -> Callable[[bytes], int]:
    """Returns the CRC-32C of a library that calculates it in hardware."""
    try:
        import google_crc32c  # noqa: PLC0415 - an optional extra
    except ImportError as error:
        raise Unsupported(
            "TFRecordDataset needs a library for checksums: pip install 'simstrategy[tfrecord]'."
        ) from error
    value: Callable[[bytes], int] = google_crc32c.value
    return value


def _masked(crc: int) -> int:
    """Returns a checksum as the format writes it, so that a checksum of checksums stays one."""
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


READ: Final = NodeType("a reader", _read, lambda node: ElementSpec((), "string"), texts=_texts)
