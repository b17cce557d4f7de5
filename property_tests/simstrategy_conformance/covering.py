"""Inputs that cover every pair of what may matter to a call: ranks, op, dtype, axes, sizes, places, memory layouts.

Wrong collectives fail at the borders of chunks, at odd sizes and at unusual numbers of ranks, which random draws seldom
combine. A `Row` is one combination. `rows_of` returns rows that hold every pair of levels, and every triple of the
levels that a test names; `arrays_of` makes a row's arrays, always the same.
"""

import functools
import itertools
import math
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from covertable import make, sorters

__all__ = [
    "LENGTHS",
    "RANKS",
    "Lengths",
    "Levels",
    "Row",
    "arrays_of",
    "count_covered",
    "is_possible",
    "place_of",
    "rows_of",
    "shape_of",
]

Host = np.ndarray[Any, Any]
Levels = Mapping[str, tuple[Any, ...]]
"""The levels of each field of a row that a call has; the other fields keep their defaults."""

RANKS: Final = (1, 2, 3, 4, 5, 6, 7, 8, 9, 16)
_LARGE: Final = 65_537
_SIZES: Final = (0, 1, 2, 7, 64, 65, 1001, 1024, _LARGE)
"""Nothing, one, an even and an odd number, both sides of a power of two, over 1,000, and over 2**16."""

_SUMS: Final = frozenset({"SUM", "AVG", "PREMUL_SUM"})
_OF_BITS: Final = frozenset({"BAND", "BOR", "BXOR"})


class Lengths(NamedTuple):
    """How long axes are.  size: one of them. square: whether the others are as long; else they are short."""

    size: int
    square: bool = False

    def __repr__(self) -> str:
        return f"Lengths({self.size}{', square=True' * self.square})"


LENGTHS: Final = (*map(Lengths, _SIZES), Lengths(2, square=True), Lengths(3, square=True))


class Row(NamedTuple):
    """One combination.

    axis: which of several axes has the size; a gather is along it. root: which rank it is. uneven: whether ranks have
    other lengths along that axis. strided: whether arrays are views that are not contiguous; "transposed": such ones
    without gaps. again: whether the call is made twice. part: which ranks take part, of calls that take a group of
    them. late: whether the caller goes on before the call is complete, and waits for it later.
    """

    ranks: int = 2
    op: str = "SUM"
    dtype: str = "float32"
    axes: int = 1
    lengths: Lengths = Lengths(3)
    axis: str = "first"
    root: str = "first"
    uneven: bool = False
    strided: bool | str = False
    again: bool = False
    part: str = "all"
    late: bool = False

    def __repr__(self) -> str:
        given = [f"{name}={value!r}" for name, value in self._asdict().items() if value != self._field_defaults[name]]
        return f"Row({', '.join(given)})"


def place_of(word: str, count: int) -> int:
    """Returns the index of the first, middle or last of several.

    >>> [place_of(word, 5) for word in ("first", "middle", "last")]
    [0, 2, 4]
    """
    return {"first": 0, "middle": count // 2, "last": count - 1}[word]


def shape_of(row: Row) -> tuple[int, ...]:
    """Returns the shape of a row's arrays, those of rank 0 where they are uneven.

    >>> shape_of(Row(axes=4, lengths=Lengths(7), axis="middle"))
    (2, 3, 7, 2)
    """
    if not row.axes:
        return ()
    size, square = row.lengths
    short = itertools.repeat(size if square else 1) if square or size == _LARGE else itertools.cycle((2, 3))
    shape = [next(short) for _ in range(row.axes - 1)]
    shape.insert(place_of(row.axis, row.axes), size)
    return tuple(shape)


def arrays_of(row: Row) -> tuple[Host, ...]:
    """Returns one array for each rank, whose sums are exact in any order; floats are multiples of a quarter."""
    shape, place = shape_of(row), place_of(row.axis, row.axes) if row.axes else 0
    draws = np.random.default_rng(zlib.crc32(repr(row).encode()))
    arrays = []
    for rank in range(row.ranks):
        size = max(0, row.lengths.size + (rank + 1) % 3 - 1) if row.uneven else row.lengths.size
        own = (*shape[:place], size, *shape[place + 1 :]) if shape else ()
        arrays.append(_numbers(draws, row.dtype, own))
    return tuple(arrays)


def _numbers(draws: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> Host:
    plain = np.dtype(dtype)
    if plain.kind == "b":
        return np.asarray(draws.integers(0, 2, shape)).astype(bool)
    if plain.kind in "iu":
        bounds = np.iinfo(plain)
        return np.asarray(draws.integers(bounds.min, bounds.max, shape, plain, endpoint=True))
    quarters = np.asarray(draws.integers(-16, 17, (*shape, 2)) / 4)
    parts = quarters[..., 0] + 1j * quarters[..., 1] if plain.kind == "c" else quarters[..., 0]
    return np.asarray(parts).astype(plain)


def rows_of(levels: Levels, triples: Sequence[str] = ()) -> tuple[Row, ...]:
    """Returns rows with every pair of the levels, and every triple of those fields of `triples`; the smallest first.

    Pairs of other fields than the ranks are of several ranks, wherever some are: one rank combines nothing. Only sums
    have complex numbers. Arrays without axes have one size.

    >>> rows = rows_of({"ranks": (1, 2), "op": ("SUM", "MAX"), "dtype": ("float32", "int8")})
    >>> sorted((row.op, row.dtype) for row in rows if row.ranks == 2)
    [('MAX', 'float32'), ('MAX', 'int8'), ('SUM', 'float32'), ('SUM', 'int8')]
    """
    return _rows(tuple((name, tuple(found)) for name, found in levels.items()), tuple(triples))


@functools.cache
def _rows(levels: tuple[tuple[str, tuple[Any, ...]], ...], triples: tuple[str, ...]) -> tuple[Row, ...]:
    table = dict(levels)
    found = _made(table, 2)
    if triples:
        rest = {name: itertools.cycle(given) for name, given in levels if name not in triples}
        for row in _made({name: table[name] for name in triples}, 3):
            found.append(row | {name: next(others) for name, others in rest.items()})
    rows = dict.fromkeys(Row(**row) for row in found)
    return tuple(sorted(rows, key=lambda row: (row.ranks * math.prod(shape_of(row)), row)))


def _made(levels: Levels, strength: int) -> list[dict[str, Any]]:
    several = tuple(ranks for ranks in levels.get("ranks", ()) if ranks > 1)
    if several and len(several) < len(levels["ranks"]) and len(levels) > 1:
        others = {name: given for name, given in levels.items() if name != "ranks"}
        alone = [{"ranks": 1, **row} for row in _made(others, strength - 1)]
        return [*alone, *_made({**levels, "ranks": several}, strength)]
    strength = min(strength, len(levels))
    rules = [{"operator": "fn", "requires": ["op", "dtype"], "evaluate": is_possible}]
    constraints = rules if {"op", "dtype"} <= set(levels) else []
    shown = {name: list(given) for name, given in levels.items()}
    return [dict(row) for row in make(shown, strength=strength, sorter=sorters.hash, constraints=constraints)]


def is_possible(row: Mapping[str, Any]) -> bool:
    """Returns whether a call can be made with an op and a dtype: complex numbers have no order, floats no bits.

    >>> [is_possible({"op": op, "dtype": "complex64"}) for op in ("SUM", "MAX")]
    [True, False]
    """
    op, dtype = row["op"], row["dtype"]
    if dtype.startswith("complex"):
        return op in _SUMS
    return op not in _OF_BITS or not dtype.startswith(("float", "bfloat"))


def count_covered(levels: Levels, rows: Sequence[Row], strength: int) -> tuple[int, int]:
    """Returns how many combinations of `strength` levels some rows hold, and how many are possible.

    >>> count_covered({"ranks": (1, 2), "axes": (0, 1)}, [Row(ranks=1, axes=0), Row(ranks=2, axes=1)], 2)
    (2, 4)
    """
    covered = possible = 0
    for fields in itertools.combinations(levels, strength):
        held = {tuple(getattr(row, field) for field in fields) for row in rows}
        wanted = {
            one
            for one in itertools.product(*[levels[field] for field in fields])
            if is_possible({"op": "SUM", "dtype": ""} | dict(zip(fields, one, strict=True)))
        }
        covered, possible = covered + len(held & wanted), possible + len(wanted)
    return covered, possible
