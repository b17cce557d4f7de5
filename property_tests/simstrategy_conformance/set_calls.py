"""Calls of array functions with every combination of their settings, on small arrays whose elements all matter.

Random draws seldom combine an axis, a direction and a size. One array of three unequal axes and a square one show a
wrong axis, a long row shows an order that is not kept, and NaN and infinity show what is passed over. Sums, orders,
searches and places are here; shapes and creation in `formed_calls.py`. It calls no backend.
"""

import itertools
from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from simstrategy_conformance.calls import FLOATS, PLAIN, Case, Host

__all__ = ["SHAPES", "Calls", "scattered", "set_calls", "thinned"]

Calls = Iterator[tuple[str, Case]]

_AXES: Final = (None, 0, 1, 2, -1, -2, -3, (0,), (0, 2), (-1, 0), (0, 1, 2))
_ONE: Final = (0, 1, 2, -1, -2, -3)
SHAPES: Final = ((2, 3, 4), (3, 3, 3))
"""Of three unequal axes, and a cube."""
_LONG: Final = (40, 3)
"""The shape of long rows: short ones are in order by any way to sort."""
_LARGE: Final = (2, 1001)
"""The shape of arrays whose results have more than 1,000 elements."""


def scattered(shape: tuple[int, ...], dtype: str) -> Host:
    """Returns an array [*shape] of numbers from -5 to 5 in no order; from 12 elements on some are equal.

    >>> scattered((2, 3), "int32").tolist()
    [[-5, 2, -2], [5, 1, -3]]
    """
    count = int(np.prod(shape, dtype=np.int64))
    found = np.arange(count) * 7 % 11 - 5
    return (found > 0 if dtype == "bool" else np.abs(found) if dtype[0] == "u" else found).astype(dtype).reshape(shape)


def thinned(calls: Calls, first: int) -> Calls:
    """Returns every third call from a first one on: one dtype is tried with all combinations, each other with these."""
    return itertools.islice(calls, first % 3, None, 3)


def _with_special(array: Host) -> Host:
    """Returns a copy [...] of floats with NaN, both infinities and -0.0, each in another row."""
    found = array.copy()
    found.reshape(-1)[[1, 6, 11, 16]] = [np.nan, np.inf, -np.inf, -0.0]
    return found


def set_calls(dtypes: tuple[str, ...]) -> Calls:
    """Yields the calls, the name of a function with each.  dtypes: those that the arrays may have."""
    plain = tuple(one for one in PLAIN if one in dtypes)
    for number, (dtype, shape) in enumerate(itertools.product(plain, SHAPES)):
        x = scattered(shape, dtype)
        calls = itertools.chain(_reduced(x), _running(x), _placed(x), _ordered(x))
        yield from calls if dtype == plain[0] else thinned(calls, number)
    for dtype in plain:
        yield from _ordered(scattered(_LONG, dtype))
        yield from _found(dtype)
        yield from _products(dtype)
    for dtype in plain[:1]:
        yield from _large(scattered(_LARGE, dtype))
    for name in (one for one in (*FLOATS, "float16") if one in dtypes):
        yield from _reduced_special(_with_special(scattered(SHAPES[0], name)))


def _reduced(x: Host) -> Calls:
    of_two = np.where(x % 2 == 0, 1, -2).astype(x.dtype)  # whose products are exact
    for axis, keepdims in itertools.product(_AXES, (False, True)):
        how: dict[str, Any] = {"axis": axis, "keepdims": keepdims}
        yield "sum", Case((x,), np.asarray(np.sum(x, dtype=x.dtype, **how)), how)
        yield "prod", Case((of_two,), np.asarray(np.prod(of_two, dtype=x.dtype, **how)), how)
        for name in ("max", "min", "all", "any"):
            yield name, Case((x,), np.asarray(getattr(np, name)(x, **how)), how)
        yield "count_nonzero", Case((x,), np.asarray(np.count_nonzero(x, **how)).astype("int32"), how)
        floats = x.dtype if x.dtype.kind == "f" else np.dtype("float32")
        yield "mean", Case((x,), np.asarray(np.mean(x, dtype="float64", **how)).astype(floats), how, near=True)
        for name, correction in itertools.product(("var", "std"), (0, 1, 0.5)):
            wanted = getattr(np, name)(x, dtype="float64", ddof=correction, **how)
            yield name, Case((x,), np.asarray(wanted).astype(floats), how | {"correction": correction}, near=True)


def _large(x: Host) -> Calls:
    """Yields calls of which the last element of a large result matters."""
    how: dict[str, Any] = {"axis": 0}
    for name in ("sum", "prod", "max", "min", "all", "any", "mean", "var", "std"):
        yield name, Case((x,), np.asarray(getattr(np, name)(x, **how)), how, near=name in ("mean", "var", "std"))
    for name in ("argmax", "argmin", "count_nonzero", "argsort"):
        more = {"stable": True} if name == "argsort" else {}
        yield name, Case((x,), np.asarray(getattr(np, name)(x, **how, **more)).astype("int32"), how)
    for name in ("sort", "cumulative_sum", "cumulative_prod"):
        yield name, Case((x,), np.asarray(getattr(np, name)(x, **how)), how)
    yield "diff", Case((x,), np.diff(x, axis=0), how)
    yield (
        "searchsorted",
        Case((np.arange(-5, 5, dtype=x.dtype), x), np.searchsorted(np.arange(-5, 5), x).astype("int32")),
    )
    yield "matmul", Case((x[:, :1], x[:1]), x[:, :1] @ x[:1], near=True)
    yield "vecdot", Case((x, x), np.asarray(np.vecdot(x.T, x.T)), how, near=True)
    yield "tensordot", Case((x[:, 0], x[0]), np.tensordot(x[:, 0], x[0], 0), {"axes": 0}, near=True)


def _reduced_special(x: Host) -> Calls:
    """Yields reductions of numbers that are none: NaN wins, and is not 0."""
    for name, axis in itertools.product(("max", "min", "mean", "sum", "all", "any", "prod"), (None, *_ONE)):
        yield name, Case((x,), np.asarray(getattr(np, name)(x, axis=axis)), {"axis": axis}, near=name in _SUMS)
    for name, axis in itertools.product(("cumulative_sum", "cumulative_prod"), _ONE):
        yield name, Case((x,), np.asarray(getattr(np, name)(x, axis=axis)), {"axis": axis}, near=True)
    near_zero = float(np.finfo(x.dtype).smallest_subnormal)
    for sorted_by in (1, -1):
        row = np.array([3, -np.inf, near_zero, np.inf, -2], x.dtype) * sorted_by
        yield "sort", Case((row,), np.sort(row))
    flat = np.array([1, np.nan, 2, np.inf, -3, 1], x.dtype).reshape(2, 3)
    for y in (flat[::-1].copy(), np.ones_like(flat)):
        yield "vecdot", Case((flat, y), np.asarray(np.vecdot(flat, y)), near=True)
        yield "tensordot", Case((flat, y), np.asarray(np.tensordot(flat, y)), near=True)
        yield "matmul", Case((flat, y.T.copy()), flat @ y.T, near=True)


_SUMS: Final = ("mean", "sum", "prod")


def _running(x: Host) -> Calls:
    of_two = np.where(x % 2 == 0, 1, -2).astype(x.dtype)
    for axis, initial in itertools.product(_ONE, (False, True)):
        how: dict[str, Any] = {"axis": axis, "include_initial": initial}
        yield "cumulative_sum", Case((x,), np.cumulative_sum(x, dtype=x.dtype, **how), how)
        yield "cumulative_prod", Case((of_two,), np.cumulative_prod(of_two, dtype=x.dtype, **how), how)
    row = x.reshape(-1)
    yield "cumulative_sum", Case((row,), np.cumulative_sum(row, dtype=x.dtype))
    for axis, n in itertools.product(_ONE, range(3)):
        yield "diff", Case((x,), np.diff(x, n, axis), {"axis": axis, "n": n})


def _placed(x: Host) -> Calls:
    for name, axis, keepdims in itertools.product(("argmax", "argmin"), (None, *_ONE), (False, True)):
        how: dict[str, Any] = {"axis": axis, "keepdims": keepdims}
        yield name, Case((x,), np.asarray(getattr(np, name)(x, **how)).astype("int32"), how)


def _ordered(x: Host) -> Calls:
    """Yields sorts along each axis, up and down, of which equal elements keep their order; and those of a row."""
    rows = x.reshape(-1)[: x.shape[0]] if x.ndim == 2 else x.reshape(-1)
    for array, descending in itertools.product((x, rows), (False, True)):
        for axis in range(-array.ndim, array.ndim):
            size, behind = array.shape[axis], np.flip(array, axis)
            places = np.argsort(array, axis, stable=True)
            if descending:
                places = np.flip(size - 1 - np.argsort(behind, axis, stable=True), axis)
            how: dict[str, Any] = {"axis": axis, "descending": descending}
            yield "argsort", Case((array,), places.astype("int32"), how)
            yield "sort", Case((array,), np.take_along_axis(array, places, axis), how)


def _found(dtype: str) -> Calls:
    """Yields searches in a row with equal elements, of numbers in it, between, before and behind."""
    row = np.array([-3, -1, -1, 0, 2, 2, 2, 4], dtype)
    shapes: tuple[tuple[int, ...], ...] = ((), (11,), (3, 2), (0,))
    for shape in shapes:
        wanted = scattered(shape, dtype)
        for side, places in (("left", np.searchsorted(row, wanted)), ("right", np.searchsorted(row, wanted, "right"))):
            yield "searchsorted", Case((row, wanted), np.asarray(places).astype("int32"), {"side": side})


def _products(dtype: str) -> Calls:
    """Yields products of vectors, matrices and stacks of them; all sums are exact."""
    dot: Any = np.vecdot  # its overloads have no axis
    exact = np.dtype(dtype).kind != "f"  # of floats the sign of a zero is the framework's
    for left, right in (
        ((3,), (3,)),
        ((2, 3), (3,)),
        ((3,), (3, 2)),
        ((2, 3), (3, 4)),
        ((2, 1, 3), (2, 3, 4)),
        ((1, 2, 3), (4, 3, 2)),
    ):
        x, y = scattered(left, dtype), scattered(right, dtype)
        yield "matmul", Case((x, y), np.asarray(x @ y), near=not exact)
    for left, right, axis in (((2, 3), (2, 3), -1), ((2, 3), (3,), -1), ((2, 1, 3), (4, 3), -1), ((3, 2), (3, 2), -2)):
        x, y = scattered(left, dtype), np.flip(scattered(right, dtype))
        yield "vecdot", Case((x, y), np.asarray(dot(x, y, axis=axis)), {"axis": axis}, near=not exact)
    for left, right, axes in (
        ((2, 3), (3, 2), 1), ((2, 3), (2, 3), 2), ((2,), (3,), 0), ((2, 3, 4), (3, 4, 5), 2),
        ((2, 3, 4), (5, 4, 3), ((1, 2), (2, 1))), ((2, 3), (4, 2), ((0,), (1,))), ((2, 3), (4, 3), ((-1,), (-1,))),
    ):  # fmt: skip
        x, y = scattered(left, dtype), scattered(right, dtype)
        yield "tensordot", Case((x, y), np.asarray(np.tensordot(x, y, axes)), {"axes": axes}, near=not exact)
