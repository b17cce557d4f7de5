"""Datasets that read files: lines of text, and TensorFlow's records.  Nothing is written or decompressed here.

The input of a reader is the pipeline of its file names, so that files can be sharded before they are opened.
"""

import os
import stat
import struct
from collections.abc import Callable, Iterator, Sequence
from errno import EINVAL
from glob import glob
from typing import Any, BinaryIO, Final, NoReturn

import numpy as np

from simstrategy.data.dataset import Dataset
from simstrategy.data.elements import ElementSpec, Host
from simstrategy.data.nodes import Elements, Iteration, Node, NodeType
from simstrategy.errors import InvalidArgument, InvalidType, Unsupported
from simstrategy.short_repr import short_repr

__all__ = ["READ", "Open", "TFRecordDataset", "TextLineDataset", "lines_of"]

Files = str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | Host | Dataset
Format = Callable[[BinaryIO, str], Iterator[bytes]]
"""Yields the texts of one open file; the str is its name, for error messages."""
Open = Callable[[str], BinaryIO]
"""Opens a file by name; raises OSError."""

_HEAD: Final = struct.Struct("<QI")
"""A record's length in bytes, and the checksum of these eight bytes."""
_LENGTH_BYTES: Final = 8
_CHECKSUM: Final = struct.Struct("<I")
_BUFFER_BYTES: Final = 1 << 18
_CHUNK_BYTES: Final = 1 << 24
"""The largest read, in bytes: a damaged length may be any number."""
_RECORD_BYTES_MAX: Final = 1 << 40
"""The longest record, in bytes.  A larger length means damage, even if its checksum is right."""


def TextLineDataset(files: Files) -> Dataset:  # noqa: N802 - TensorFlow's spelling
    """Makes a dataset of the lines of text files, file by file: bytes, without line feeds and carriage returns.

    files: a name, a pattern such as "train-*.txt" (sorted), a list of names, or a dataset of names. The last line
    may end without a line feed; an empty file has no line. Raises InvalidType for other values, and
    InvalidArgument for a pattern without a match; the iteration raises InvalidArgument for a file that cannot be
    read. Clauses: D-11. Source: TensorFlow 2.21.0, as measured.
    """
    return _reader(files, _lines, "TextLineDataset")


def TFRecordDataset(files: Files) -> Dataset:  # noqa: N802 - TensorFlow's spelling
    """Makes a dataset of the records of TFRecord files, file by file: bytes, not parsed.

    files: as in `TextLineDataset`. Needs the extra `tfrecord`. Raises as `TextLineDataset` does; the iteration
    raises InvalidArgument for a damaged or truncated record, with its number and its offset in bytes, and
    Unsupported without the extra.
    Source of the format: TensorFlow, "TFRecord and tf.train.Example": length, masked CRC-32C of the length,
    data, masked CRC-32C of the data; numbers little-endian. Clauses: D-11.
    """
    return _reader(files, _records, "TFRecordDataset")


def lines_of(names: Dataset, opened: Open) -> Dataset:
    """Makes a dataset of the lines of files that `opened` opens, for example from memory."""
    return Dataset(Node(READ, (names.node,), (_lines, opened, "lines_of")))


def _reader(files: Files, form: Format, name: str) -> Dataset:
    names = files if isinstance(files, Dataset) else Dataset.from_tensor_slices(_names(files, name))
    return Dataset(Node(READ, (names.node,), (form, _from_disk, name)))


def _from_disk(path: str) -> BinaryIO:
    """Opens a regular file: a pipe could block without end, and can be read once alone; a device may have no end."""
    mode = os.stat(path).st_mode
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):  # `open` names a folder as one
        return open(path, "rb", buffering=_BUFFER_BYTES)
    kinds = {stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
    raise OSError(EINVAL, f"it is {kinds.get(stat.S_IFMT(mode), 'a device')}, not a regular file")


def _names(files: Any, reader: str) -> Host:
    if isinstance(files, (str, os.PathLike)):
        one = os.fspath(files)
        _check_name(one, reader)
        found = [one] if not _is_pattern(one) or os.path.exists(one) else sorted(glob(one))
        if not found:
            raise InvalidArgument(
                f"{reader}: no file matches {one!r}. Correct the pattern, or check the working directory."
            )
    else:
        try:
            if isinstance(files, (set, frozenset)):
                # The order of a set differs from run to run, and with it the shards of the workers.
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
        raise InvalidType(
            f"{reader} needs a dataset of file names, and got {short_repr(name)} from it. Yield one text per element."
        )
    path = os.fsdecode(name.item())
    _check_name(path, reader)
    return path


def _check_name(path: str, reader: str) -> None:
    """Raises InvalidArgument for a text that no file system takes as a name."""
    try:
        what = "a null character" if "\0" in path else None
        os.fsencode(path)
    except UnicodeEncodeError:
        what = "a character that cannot be encoded"
    if what is not None:
        raise InvalidArgument(f"{reader}: {path!r} is not a file name: it contains {what}. Correct the list of files.")


def _contents(settings: tuple[Format, Open, str], name: Any) -> Iterator[bytes]:
    """Yields the texts of one file.  Raises InvalidArgument with its name if it cannot be read."""
    form, opened, reader = settings
    path = _path(name, reader)
    try:
        with opened(path) as file:
            yield from form(file, path)
    except FileNotFoundError as error:
        raise InvalidArgument(f"{reader}: there is no file {path!r}. Correct the list of files.") from error
    except OSError as error:
        raise InvalidArgument(
            f"{reader}: cannot read {path!r}: {error.strerror}. Correct the list of files."
        ) from error


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
            what = "has a length whose checksum is wrong: it is damaged, or the file is compressed or no TFRecord"
            _damaged(path, number, start, what)
        data = file.read(size) if size <= _CHUNK_BYTES else _exactly(file, size)
        # Reads the next record's head too, which saves one call for every record.
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
    """Reads `size` bytes, or fewer at the end of the file, in chunks: a damaged length allocates no memory."""
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
        f"TFRecordDataset: {path!r}, record {number} at byte {start} {what}. Write the file again, or leave it out."
    )


def _checksum() -> Callable[[bytes], int]:
    """Returns the function that computes a CRC-32C.  Raises Unsupported without the extra `tfrecord`."""
    try:
        import google_crc32c  # noqa: PLC0415 - an optional extra
    except ImportError as error:
        raise Unsupported(
            "TFRecordDataset needs a library for checksums: pip install 'simstrategy[tfrecord]'."
        ) from error
    value: Callable[[bytes], int] = google_crc32c.value
    return value


def _masked(crc: int) -> int:
    """Returns the masked form in which the format stores a checksum."""
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


READ: Final = NodeType("a reader", _read, lambda node: ElementSpec((), "string"), texts=_texts)
