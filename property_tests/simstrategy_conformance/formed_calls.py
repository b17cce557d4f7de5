"""Calls of array functions of shapes and of creation with every combination of their settings and dtypes.

As `set_calls.py`: one array of three unequal axes, a square one, and empty ones. It calls no backend.
"""

import itertools
from typing import Any, Final

import numpy as np

from simstrategy_conformance.arrays import strewn
from simstrategy_conformance.calls import PLAIN, Case, Host
from simstrategy_conformance.set_calls import SHAPES, Calls, scattered, thinned

__all__ = ["formed_calls"]

_ONE: Final = (0, 1, 2, -1, -2, -3)
_SIZES: Final = ((), (0,), (2,), (2, 3), (2, 0))
_NUMBERS: Final[tuple[Any, ...]] = (float("nan"), float("inf"), -0.0, 0.5, 7)
_OF_64_BITS: Final[dict[str, tuple[Any, ...]]] = {
    "float64": (1 / 3,),
    "int64": (2**40 + 1,),
    "uint64": (2**40 + 1,),
    "complex128": (1 / 3,),
}
"""Numbers that 32 bits do not hold."""


def formed_calls(dtypes: tuple[str, ...]) -> Calls:
    """Yields the calls, the name of a function with each.  dtypes: those that the arrays may have."""
    plain = [one for one in (*PLAIN, "bool") if one in dtypes]
    for number, (dtype, shape) in enumerate(itertools.product(plain, SHAPES)):
        x = strewn(scattered(shape, dtype))
        calls = itertools.chain(_turned(x), _moved(x), _picked(x), _broadcast(x))
        yield from calls if dtype == plain[0] else thinned(calls, number)
    for name in (one for one in PLAIN if one in dtypes):
        yield from _spaced(name)
    if "float32" in dtypes:
        yield from _large(scattered((2, 1001), "float32"))
    if "complex64" in dtypes:
        yield "linspace", Case((0, 2j, 3), np.array([0, 1j, 2j], "complex64"))
    for number, one in enumerate(dtypes):
        yield from _created(one) if number == 0 else thinned(_created(one), number)
        for other in dtypes:
            yield from _cast(scattered((3, 2), one), other)


def _turned(x: Host) -> Calls:
    for axes in itertools.permutations(range(3)):
        for given in (axes, tuple(axis - 3 for axis in axes)):
            yield "permute_dims", Case((x, given), np.transpose(x, axes))
    yield "matrix_transpose", Case((x,), np.matrix_transpose(x))
    for source, target in itertools.product(_ONE, repeat=2):
        yield "moveaxis", Case((x, source, target), np.moveaxis(x, source, target))
    yield "moveaxis", Case((x, (0, 2), (-1, 0)), np.moveaxis(x, (0, 2), (-1, 0)))
    for shape in ((-1,), (x.size,), (x.shape[2], -1), (1, *x.shape[::-1]), (x.shape[0], -1, 1)):
        yield "reshape", Case((x, shape), x.reshape(shape))
    for axis in range(-4, 4):
        yield "expand_dims", Case((x,), np.expand_dims(x, axis), {"axis": axis})
        wide = np.expand_dims(x, axis)
        yield "squeeze", Case((wide, axis), x)
    yield "squeeze", Case((x[None, :, None], (0, 2)), x)
    for k in range(-3, 4):
        yield "tril", Case((x,), np.tril(x, k), {"k": k})
        yield "triu", Case((x,), np.triu(x, k), {"k": k})


def _moved(x: Host) -> Calls:
    yield "asarray", Case((x,), x)
    for axis in (None, *_ONE, (0, 1), (-1, 0), (0, 1, 2)):
        yield "flip", Case((x,), np.flip(x, axis), {"axis": axis})
    for axis, shift in itertools.product((None, *_ONE), (0, 1, -1, 5)):
        yield "roll", Case((x, shift), np.roll(x, shift, axis), {"axis": axis})
    yield "roll", Case((x, (1, -2)), np.roll(x, (1, -2), (0, 2)), {"axis": (0, 2)})
    for axis, count in itertools.product((None, *_ONE), (0, 1, 2)):
        yield "repeat", Case((x, count), np.repeat(x, count, axis), {"axis": axis})
    for repetitions in ((2,), (1, 2), (2, 1, 3), (2, 1, 1, 2), (0,)):
        yield "tile", Case((x, repetitions), np.tile(x, repetitions))
    for axis in _ONE:
        longer = np.concatenate([x, x], axis)
        for joined in ([x], [x, longer], [longer, x, x]):
            yield "concat", Case((joined,), np.concatenate(joined, axis), {"axis": axis})
        yield "unstack", Case((x,), np.moveaxis(x, axis, 0), {"axis": axis})
    other = np.flip(x)
    yield "concat", Case(([x, other[0]],), np.concatenate([x, other[0]], None), {"axis": None})
    for axis in range(-4, 4):
        for stacked in ([x], [x, other], [other, x, x]):
            yield "stack", Case((stacked,), np.stack(stacked, axis), {"axis": axis})


def _picked(x: Host) -> Calls:
    for axis in _ONE:
        size = x.shape[axis]
        for found in map(_places, (0, -1, [], [size - 1, 0, -size], [[1, 0], [-1, 1]])):
            yield "take", Case((x, found), np.take(x, found, axis), {"axis": axis})
        along = np.argsort(x, axis)[..., :2] if axis in (2, -1) else np.argsort(x, axis)
        for indices in (along.astype("int32"), (along - size).astype("int32")):
            yield "take_along_axis", Case((x, indices), np.take_along_axis(x, indices, axis), {"axis": axis})


def _large(x: Host) -> Calls:
    """Yields calls of which the last element of a large result matters.  x: [2, 1001]."""
    row, places, how = x[0], np.zeros((1, 1001), "int32"), {"axis": 0}
    yield "permute_dims", Case((x, (1, 0)), x.T)
    yield "moveaxis", Case((x, 0, 1), x.T)
    yield "matrix_transpose", Case((x,), x.T)
    yield "reshape", Case((x, (-1,)), x.reshape(-1))
    yield "expand_dims", Case((x,), x[None], how)
    yield "squeeze", Case((x[None], 0), x)
    yield "tril", Case((x,), np.tril(x, 2000), {"k": 2000})
    yield "triu", Case((x,), np.triu(x))
    yield "flip", Case((x,), np.flip(x, 0), how)
    yield "roll", Case((x, 1), np.roll(x, 1, 0), how)
    yield "repeat", Case((x, 2), np.repeat(x, 2, 0), how)
    yield "tile", Case((x, (1, 2)), np.tile(x, (1, 2)))
    yield "concat", Case(([x, x],), np.concatenate([x, x], 0), how)
    yield "stack", Case(([x, x],), np.stack([x, x], 0), how)
    yield "unstack", Case((x,), x, how)
    yield "take", Case((x, np.array([1], "int32")), x[1:], how)
    yield "take_along_axis", Case((x, places), np.take_along_axis(x, places, 0), how)
    yield "broadcast_to", Case((row, (2, 1001)), np.broadcast_to(row, (2, 1001)))
    yield "broadcast_arrays", Case((x, row), np.stack(np.broadcast_arrays(x, row)))
    yield "meshgrid", Case((row, row[:2]), np.stack(np.meshgrid(row, row[:2])))
    yield "astype", Case((x, "bool"), x.astype("bool"))
    for name in ("zeros_like", "ones_like"):
        yield name, Case((x,), getattr(np, name)(x))
    yield "full_like", Case((x, 3), np.full_like(x, 3))
    for name in ("zeros", "ones"):
        yield name, Case((1001,), getattr(np, name)(1001, "float32"))
    yield "full", Case((1001, 0.5), np.full(1001, 0.5, "float32"))
    yield "eye", Case((40,), np.eye(40, dtype="float32"))
    yield "arange", Case((1001,), np.arange(1001, dtype="int32"))
    yield "linspace", Case((0, 1000, 1001), np.arange(1001, dtype="float32"))
    yield "asarray", Case((tuple(row.tolist()),), row)


def _places(numbers: Any) -> Host:
    return np.array(numbers, "int32")


def _broadcast(x: Host) -> Calls:
    for part in (x[:1], x[:, :1], x[0, :, :1], x[0, 0], x[0, 0, 0:1]):
        yield "broadcast_to", Case((part, x.shape), np.broadcast_to(part, x.shape))
        yield "broadcast_arrays", Case((part, x), np.stack(np.broadcast_arrays(part, x)))
        yield "broadcast_arrays", Case((x, part), np.stack(np.broadcast_arrays(x, part)))


def _spaced(dtype: str) -> Calls:
    how: dict[str, Any] = {"dtype": dtype}
    for given in ((4,), (0,), (1, 4), (4, 1), (4, 1, -1), (0, 7, 3), (7, 0, -3), (-3, 3, 2)):
        yield "arange", Case(given, np.arange(*given, dtype=dtype), how)
    yield "arange", Case((7,), np.arange(0, 7, 2, dtype=dtype), {"step": 2, **how})
    yield "arange", Case((2,), np.arange(2, 9, 3, dtype=dtype), {"stop": 9, "step": 3, **how})
    if np.dtype(dtype).kind == "f":
        for part in ((0.5,), (2.5,), (0.5, 2, 0.5), (1, 0, -0.25)):
            yield "arange", Case(part, np.arange(*part, dtype=dtype), how)
        for start, stop, count, last in itertools.product((0, -3, 2.5), (1, -7), (0, 1, 2, 5), (True, False)):
            wanted = np.linspace(start, stop, count, endpoint=last).astype(dtype)
            yield "linspace", Case((start, stop, count), wanted, {"endpoint": last, **how}, near=dtype == "float64")
    rows = [np.arange(size).astype(dtype) + 5 for size in (2, 3, 1)]
    for indexing, given in itertools.product(("xy", "ij"), (rows[:1], rows[:2], rows, rows[::-1])):
        yield "meshgrid", Case(tuple(given), np.stack(np.meshgrid(*given, indexing=indexing)), {"indexing": indexing})


def _created(dtype: str) -> Calls:
    how: dict[str, Any] = {"dtype": dtype}
    kind = np.dtype(dtype).kind
    numbers = (True,) if kind == "b" else (7,) if kind in "iu" else _NUMBERS
    numbers += _OF_64_BITS.get(dtype, ())
    for shape in (*_SIZES, 3):
        yield "zeros", Case((shape,), np.zeros(shape, dtype), how)
        yield "ones", Case((shape,), np.ones(shape, dtype), how)
        for number in numbers:
            yield "full", Case((shape, number), np.full(shape, number, dtype), how)
    for size, number in itertools.product(_SIZES, numbers):
        form = np.ones(size, "float32")
        yield "zeros_like", Case((form,), np.zeros(size, dtype), how)
        yield "ones_like", Case((form,), np.ones(size, dtype), how)
        yield "full_like", Case((form, number), np.full(size, number, dtype), how)
    for rows, columns, k in itertools.product((0, 2, 3), (None, 1, 3), (-1, 0, 1)):
        yield "eye", Case((rows, columns), np.eye(rows, columns, k, dtype), {"k": k, **how})


def _cast(x: Host, dtype: str) -> Calls:
    """Yields casts of an array, and of what is no array yet; none of parts that would be lost."""
    if x.dtype.kind == "c" and np.dtype(dtype).kind != "c":
        return
    if np.dtype(dtype).kind == "u":
        x = np.abs(x.real).astype(x.dtype)
    yield "astype", Case((x, dtype), x.astype(dtype))
    yield "asarray", Case((x,), x.astype(dtype), {"dtype": dtype})
