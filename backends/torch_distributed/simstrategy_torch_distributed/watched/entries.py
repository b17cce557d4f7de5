"""Entries of a rank's file: a few facts as JSON, and arrays.  Each is appended at once, so threads need no lock."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

__all__ = ["FILE", "Entry", "append", "read"]

FILE: Final = "SIMSTRATEGY_OBSERVED"
"""The variable of the environment that names a rank's file; missing where nothing is observed."""
_LENGTH_BYTES: Final = 8


class Entry(NamedTuple):
    """what: its kind.  facts: as JSON has them. arrays: [any shape] each."""

    what: str
    facts: Mapping[str, Any]
    arrays: tuple[np.ndarray[Any, Any], ...]


def append(file: str, what: str, facts: Mapping[str, Any], arrays: Sequence[np.ndarray[Any, Any]]) -> None:
    """Appends an entry to a file.  arrays: [any shape] each, of numbers or texts."""
    forms = [[one.dtype.str, list(one.shape)] for one in arrays]
    head = json.dumps([what, facts, forms]).encode()
    data = b"".join([len(head).to_bytes(_LENGTH_BYTES), head, *(one.tobytes() for one in arrays)])
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        with os.fdopen(descriptor, "ab", buffering=0, closefd=False) as stream:
            while data:
                data = data[stream.write(data) or 0 :]
    finally:
        os.close(descriptor)


def read(file: Path) -> Iterator[Entry]:
    """Yields the entries of a file, in order; one that a rank could not complete is left out."""
    if not file.exists():
        return
    with file.open("rb") as stream:
        while len(length := stream.read(_LENGTH_BYTES)) == _LENGTH_BYTES:
            head = stream.read(int.from_bytes(length))
            if len(head) < int.from_bytes(length):
                return
            what, facts, forms = json.loads(head)
            arrays = []
            for dtype, shape in forms:
                kind = np.dtype(dtype)
                data = stream.read(kind.itemsize * int(np.prod(shape, dtype=np.int64)))
                try:
                    arrays.append(np.frombuffer(data, kind).reshape(shape))
                except ValueError:
                    return
            yield Entry(what, facts, tuple(arrays))
