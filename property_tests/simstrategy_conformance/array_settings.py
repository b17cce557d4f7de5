"""Calls of array functions of which a setting is an array: bounds, what is joined, counts, places, a number to repeat.

A library that converts its first arguments alone passes all other calls. It calls no backend.
"""

import itertools
from typing import Any, Final

import numpy as np

from simstrategy_conformance.calls import PLAIN, Case, Host
from simstrategy_conformance.set_calls import Calls, scattered

__all__ = ["array_setting_calls"]

_SHAPE: Final = (3, 4)
_DEFAULTS: Final = ("float32", "int32")
"""The dtypes in which a created array is by default."""


def array_setting_calls(dtypes: tuple[str, ...]) -> Calls:
    """Yields the calls, the name of a function with each.  dtypes: those that the arrays may have."""
    for dtype in (one for one in PLAIN if one in dtypes):
        x = scattered(_SHAPE, dtype)
        yield from _bounded(x)
        yield from _joined(x)
        yield from _repeated(x)
        yield from _filled(x)
        yield from _searched(dtype)


def _bounded(x: Host) -> Calls:
    """Yields clips between numbers, rows and columns."""
    least, most = (np.array(one, x.dtype) for one in ([-3, -1, 0, -2], [[1], [3], [2]]))
    for low, high in itertools.product((None, least, least[1]), (None, most, np.asarray(most[1, 0]))):
        how: dict[str, Any] = {key: np.asarray(one) for key, one in (("min", low), ("max", high)) if one is not None}
        yield "clip", Case((x,), np.clip(x, low, high), how)
    yield "clip", Case((x, least, most), np.clip(x, least, most))
    yield "clip", Case((x, least, 3), np.clip(x, least, 3))


def _joined(x: Host) -> Calls:
    """Yields differences, with rows or columns before and behind."""
    for axis, n in itertools.product((0, 1, -1), (1, 2)):
        part = np.take(x, [1], axis)
        both = {"prepend": part, "append": np.concatenate([part, part], axis)}
        for how in ({"prepend": part}, {"append": part + 1}, both):
            settings: dict[str, Any] = {"axis": axis, "n": n, **how}
            yield "diff", Case((x,), np.diff(x, **settings), settings)


def _repeated(x: Host) -> Calls:
    """Yields repetitions of which each element has its own count."""
    for axis in (0, 1, -1, None):
        counts = (np.arange(x.size if axis is None else x.shape[axis]) % 3).astype("int32")
        yield "repeat", Case((x, counts), np.repeat(x, counts, axis), {"axis": axis})


def _filled(x: Host) -> Calls:
    """Yields arrays of one number, which is an array without axes."""
    number = np.asarray(x[0, 1])
    yield "full_like", Case((x, number), np.full_like(x, number))
    for dtype in dict.fromkeys((x.dtype.name, *_DEFAULTS)):
        yield "full", Case((_SHAPE, number), np.full(_SHAPE, number).astype(dtype), {"dtype": dtype})
    if x.dtype.name in _DEFAULTS:
        yield "full", Case((_SHAPE, number), np.full(_SHAPE, number))


def _searched(dtype: str) -> Calls:
    """Yields searches in a row that the places put in order."""
    row = np.array([-3, -1, -1, 0, 2, 2, 2, 4], dtype)
    sorter = np.roll(np.arange(row.size, dtype="int32"), 3)
    mixed = np.asarray(row[np.argsort(sorter)])
    shapes: tuple[tuple[int, ...], ...] = ((), (11,), (3, 2))
    for shape in shapes:
        wanted = scattered(shape, dtype)
        for side, places in (("left", np.searchsorted(row, wanted)), ("right", np.searchsorted(row, wanted, "right"))):
            how = {"side": side, "sorter": sorter}
            yield "searchsorted", Case((mixed, wanted), np.asarray(places).astype("int32"), how)
