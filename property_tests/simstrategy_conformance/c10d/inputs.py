"""What each rank gives to a call: NumPy arrays, the same in every process for the same row.

Numbers are such that the result is exact: sums in any order, products, and sums of integers without overflow. A dtype
that NumPy has not is carried by another one, which holds its numbers (bfloat16) or its bytes (8-bit floats).
"""

import zlib
from typing import Any, Final

import numpy as np

from simstrategy_conformance.covering import Row, place_of, shape_of

__all__ = ["CARRIERS", "PARTS", "carrier_of", "given_by", "index_of", "members_of"]

Host = np.ndarray[Any, Any]

CARRIERS: Final = {"bfloat16": "float32", "float8_e4m3fn": "uint8", "float8_e5m2": "uint8"}
PARTS: Final = ("all", "but_first", "every_other")
"""The groups of ranks in which calls are made."""
_DOUBLED: Final = 3
"""Every third rank multiplies an element by two: a product of more would not fit into 8 bits."""


def carrier_of(dtype: str) -> np.dtype[Any]:
    """Returns the dtype of the NumPy arrays that stand for tensors of a dtype.

    >>> carrier_of("bfloat16").name
    'float32'
    """
    return np.dtype(CARRIERS.get(dtype, dtype))


def members_of(part: str, ranks: int) -> tuple[int, ...]:
    """Returns which ranks of the world are in a group of PARTS.

    >>> members_of("every_other", 5)
    (0, 2, 4)
    """
    if part == "all" or ranks == 1:
        return tuple(range(ranks))
    return tuple(range(1, ranks)) if part == "but_first" else tuple(range(0, ranks, 2))


def index_of(row: Row) -> int:
    """Returns the index in its group of the rank that a row names as root."""
    return place_of(row.root, len(members_of(row.part, row.ranks)))


def given_by(row: Row, index: int, *, op: str = "", copy: int = 0, repeat: int = 0) -> Host:
    """Returns the array, [row's shape], that the member `index` of a row's group gives.

    op: by which it will be combined with the others'; "" where it is only moved. copy, repeat: another one for each
    number, repeat in each call of a row that is made again.
    """
    members = len(members_of(row.part, row.ranks))
    shape = _shape(row, index)
    draws = np.random.default_rng(zlib.crc32(f"{row!r} {op} {index} {copy}{f' {repeat}' * bool(repeat)}".encode()))
    return _numbers(draws, row.dtype, shape, op, index + repeat, members)


def _shape(row: Row, index: int) -> tuple[int, ...]:
    shape = shape_of(row)
    if not row.uneven or not shape:
        return shape
    place = place_of(row.axis, row.axes)
    return (*shape[:place], shape[place] + index % 3, *shape[place + 1 :])


def _numbers(draws: np.random.Generator, dtype: str, shape: tuple[int, ...], op: str, index: int, members: int) -> Host:
    carrier = carrier_of(dtype)
    if carrier.kind == "b":
        return np.asarray(draws.integers(0, 2, shape)).astype(bool)
    if op == "PRODUCT":
        return _factors(draws, carrier, shape, index)
    if carrier.kind in "iu":
        bounds, share = np.iinfo(carrier), members if op in ("SUM", "PREMUL_SUM", "AVG") else 1
        least, most = -(-int(bounds.min) // share), int(bounds.max) // share
        return np.asarray(draws.integers(least, most, shape, carrier, endpoint=True))
    quarters = np.asarray(draws.integers(-16, 17, (*shape, 2)) / 4)
    parts = quarters[..., 0] + 1j * quarters[..., 1] if carrier.kind == "c" else quarters[..., 0]
    return np.asarray(parts).astype(carrier)


def _factors(draws: np.random.Generator, carrier: np.dtype[Any], shape: tuple[int, ...], index: int) -> Host:
    """Returns ones and twos, with signs where the dtype has them: a third of the ranks doubles each element."""
    places = np.arange(int(np.prod(shape, dtype=np.int64))).reshape(shape)
    factors = np.where((places + index) % _DOUBLED == 0, 2, 1)
    if carrier.kind != "u":
        factors = factors * (1 - 2 * np.asarray(draws.integers(0, 2, shape)))
    return np.asarray(factors).astype(carrier)
