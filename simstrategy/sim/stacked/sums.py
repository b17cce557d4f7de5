"""Combines the ranks' arrays along the first axis of one array, with the bits of `simstrategy.sim.collectives`.

NumPy adds the rows of [ranks, k] one after the other where k > 1. It adds in pairs along an axis whose elements lie
side by side, so a single column is accumulated, which is one after the other.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from simstrategy.device import Op
from simstrategy.sim.arrays import Host, view

__all__ = ["added_rows_of", "combined", "gathered", "summed_equal", "summed_products"]

_ZEROS: Final = {**dict.fromkeys("iu", 0), "c": complex(-0.0, -0.0)}
"""What sums of integers and of complex numbers begin with."""
_reduce: Final[Callable[..., Host]] = np.add.reduce
_ROWS_BYTES: Final = 262_144
_ROWS_MIN: Final = 4
_UFUNCS: Final[dict[str, np.ufunc]] = {"SUM": np.add, "MIN": np.minimum, "MAX": np.maximum}


def combined(rows: Host, op: Op, order: str) -> Host:
    """Returns the total [...] of rows [ranks, ...], in their dtype, in an order of additions, by name."""
    plain = view(rows, np.ndarray)
    if order == "linear" and plain.ndim > 1 and plain[0].size > 1 and plain.flags.c_contiguous:
        return _joined_rows(plain, _UFUNCS[op])
    flat = np.ascontiguousarray(plain).reshape(len(rows), -1)
    total: Host = _ORDERS[order](flat, _UFUNCS[op]).reshape(rows.shape[1:])
    return total


def summed_equal(value: Host, ranks: int) -> Host:
    """Returns the sum of as many equal arrays [...], one after the other; so many at once as stay in the cache."""
    total = np.array(value, subok=False)
    count = min(ranks - 1, max(1, _ROWS_BYTES // max(1, total.nbytes)))
    if count < _ROWS_MIN:
        for _ in range(1, ranks):
            np.add(total, value, total)
        return total
    rows = np.empty((count + 1, *total.shape), total.dtype)
    rows[:] = value
    left = ranks - 1
    while left:
        rows[0] = total
        total = combined(rows[: min(left, count) + 1], "SUM", "linear")
        left -= min(left, count)
    return total


def _linear(rows: Host, ufunc: np.ufunc) -> Host:
    """Combines rows [ranks, k] in rank order."""
    if len(rows) == 1 or not rows.shape[1]:
        first: Host = rows[0].copy()
        return first
    if rows.shape[1] == 1:
        last: Host = ufunc.accumulate(rows, axis=0, dtype=rows.dtype)[-1].copy()
        return last
    return _joined_rows(rows, ufunc)


def _joined_rows(rows: Host, ufunc: np.ufunc) -> Host:
    """Combines rows [ranks, ...] of more than one element."""
    if ufunc is np.add:
        return added_rows_of(rows.dtype)(rows)
    extreme: Host = ufunc.reduce(rows, 0, rows.dtype)
    return extreme


def added_rows_of(dtype: "np.dtype[Any]") -> Callable[[Host], Host]:
    """Returns what adds rows [ranks, ...] of a dtype in rank order; C-contiguous, and of more than one element each.

    A sum begins with -0, which changes no number: NumPy's begins with 0, and -0 and 0 are 0.
    """
    start = _ZEROS.get(dtype.kind, dtype.type(-0.0))
    return lambda rows: _reduce(rows, 0, dtype, None, False, start)


def _ring(rows: Host, ufunc: np.ufunc) -> Host:
    """Combines block k of the columns from rank k + 1 round to rank k."""
    count, size = rows.shape
    total = np.empty(size, rows.dtype)
    block = -(-size // count)
    for k in range(count if block else 0):
        part = rows[:, k * block : (k + 1) * block]
        if not part.shape[1]:
            break
        total[k * block : (k + 1) * block] = _linear(np.roll(part, -(k + 1), axis=0), ufunc)
    return total


def _tree(rows: Host, ufunc: np.ufunc) -> Host:
    """Combines neighbours, then neighbouring pairs, and so on."""
    level = rows
    while len(level) > 1:
        pairs = len(level) // 2
        together = ufunc(level[0 : 2 * pairs : 2], level[1 : 2 * pairs : 2])
        level = together if 2 * pairs == len(level) else np.concatenate([together, level[2 * pairs :]])
    total: Host = level[0].copy()
    return total


_ORDERS: Final[dict[str, Callable[[Host, np.ufunc], Host]]] = {"linear": _linear, "ring": _ring, "tree": _tree}


def gathered(rows: Host, axis: int) -> Host:
    """Returns the arrays [..., n, ...] of rows [ranks, ..., n, ...] end to end along an axis, in rank order."""
    shape = list(rows.shape[1:])
    shape[axis] *= len(rows)
    whole: Host = np.moveaxis(rows, 0, axis).reshape(shape)
    return whole


def summed_products(left: Any, right: Any, ranks: int) -> Host:
    """Returns the sum over ranks of the products of two matrices, each as it is multiplied and added alone, in order.

    left, right: functions that return a rank's matrix, [m, k] and [k, n]. The products are not kept: the sum and one
    product stay in the cache.
    """
    total: Host = np.matmul(left(0), right(0))
    product = np.empty_like(total)
    for rank in range(1, ranks):
        np.matmul(left(rank), right(rank), product)
        np.add(total, product, total)
    return total
