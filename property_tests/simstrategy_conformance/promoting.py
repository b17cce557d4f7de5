"""Calls of array functions with several dtypes and with numbers, and the dtype of each result, by the contract's rule.

Beside NumPy, which computes what is right in that dtype. It calls no backend.
"""

import itertools
from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from simstrategy_conformance.calls import PLAIN, Case, Host

__all__ = [
    "FLOAT_FUNCTIONS",
    "float_calls",
    "host_calls",
    "long_calls",
    "mixed_calls",
    "narrow_calls",
    "number_calls",
    "promoted",
]

_KINDS: Final = "biufc"
_HEIGHTS: Final = {"b": 0, "i": 1, "u": 1, "f": 2, "c": 3}
_TWO: Final = (
    "add", "multiply", "minimum", "equal", "where", "concat", "subtract", "maximum", "less", "stack", "divide", "atan2",
    "hypot", "logaddexp", "copysign", "floor_divide",
)  # fmt: skip
"""Functions of two arrays that are tried with dtypes that differ."""
_PRODUCTS: Final = ("matmul", "vecdot", "tensordot")
"""Functions of two arrays that are tried with the usual dtypes alone: not every library has them for others."""
_ORDERED: Final = ("minimum", "maximum", "less", "atan2", "hypot", "logaddexp", "copysign", "floor_divide")
_LONG: Final = 1001
FLOAT_FUNCTIONS: Final = (
    "sqrt", "exp", "expm1", "log", "log1p", "log2", "log10", "sin", "cos", "tan", "asin", "acos", "atan", "sinh",
    "cosh", "tanh", "asinh", "acosh", "atanh", "mean", "var", "std", "divide", "atan2", "hypot", "logaddexp",
    "copysign",
)  # fmt: skip
"""Functions of floats, which compute integers and bool as float32."""
_OF_TWO: Final = ("divide", "atan2", "hypot", "logaddexp", "copysign")


def promoted(one: str, other: str) -> str | None:
    """Returns the dtype of two arrays beside each other; None where the contract names none.

    >>> [promoted("int64", "float32"), promoted("int8", "uint8"), promoted("bool", "int16")]
    ['float32', 'int16', 'int16']
    """
    heights = [_HEIGHTS[np.dtype(dtype).kind] for dtype in (one, other)]
    if "float64" in (one, other) and "complex64" in (one, other):
        return "complex128"
    if heights[0] != heights[1]:
        return (one, other)[heights.index(max(heights))]
    found = np.promote_types(one, other).name
    return found if np.dtype(found).kind in "biu" or heights[0] > 1 else None


def mixed_calls(dtypes: tuple[str, ...]) -> Iterator[tuple[str, Case]]:
    """Yields calls of each function with every pair of dtypes."""
    for one, other in itertools.product(dtypes, repeat=2):
        wanted = promoted(one, other)
        for name in (*_TWO, *(_PRODUCTS if {one, other} <= set(PLAIN) else ())):
            complex_order = name in _ORDERED and "c" in (np.dtype(one).kind, np.dtype(other).kind)
            of_masks = name in ("subtract", "minimum", "maximum", "less", "floor_divide") and one == other == "bool"
            if wanted in dtypes and not complex_order and not of_masks:
                x, y = _parts([1, 0], 0.5, one), _parts([1, 1], 0.25, other)
                yield name, _mixed(name, x, y, str(wanted))
                if name in ("add", "where", "divide"):  # a scalar of NumPy is an array of its dtype
                    yield name, _mixed(name, x, y[0], str(wanted))


def _parts(whole: list[int], part: float, dtype: str) -> Host:
    """Returns numbers, [2], with a part that an integer has not, where the dtype has such numbers."""
    return np.array([one + part * (np.dtype(dtype).kind in "fc") for one in whole], dtype)


def long_calls(dtypes: tuple[str, ...]) -> Iterator[tuple[str, Case]]:
    """Yields calls of two long arrays of which one is cast, each element another one."""
    for one, other in itertools.permutations([name for name in ("bool", "int32", "float32") if name in dtypes], 2):
        wanted = str(promoted(one, other))
        x, y = (np.arange(1, _LONG + 1) % 7).astype(one), (np.arange(_LONG) % 5 + 1).astype(other)
        for name in ("add", "multiply", "where", "concat"):
            yield name, _mixed(name, x, y, wanted)


def _mixed(name: str, x: Host, y: Any, dtype: str) -> Case:
    wide = (x.astype(dtype), y.astype(dtype))
    if name == "where":
        which = np.arange(x.size) % 2 == 0
        return Case((which, x, y), np.where(which, *wide))
    if name in ("concat", "stack"):
        return Case(([x, y],), np.asarray(getattr(np, name)(list(wide))))
    if name in _OF_TWO:
        function = {"atan2": "arctan2"}.get(name, name)
        floats = [one if one.dtype.kind in "fc" else one.astype("float32") for one in wide]
        return Case((x, y), np.asarray(getattr(np, function)(*floats)), near=True)
    options = {"axes": 1} if name == "tensordot" else {}
    return Case((x, y), np.asarray(getattr(np, name)(*wide, **options)), options)


def number_calls(dtypes: tuple[str, ...]) -> Iterator[tuple[str, Case]]:
    """Yields calls with an array of each dtype and a number of Python of each type, on either side of it."""
    numbers = {"b": True, "i": 2, "f": 0.5, "c": 1j}
    defaults = {"b": "bool", "i": "int32", "f": "float32", "c": "complex64"}
    for dtype, (kind, number) in itertools.product(dtypes, numbers.items()):
        height = _HEIGHTS[np.dtype(dtype).kind]
        wanted = dtype if _HEIGHTS[kind] <= height else defaults[kind]
        wanted = "complex128" if kind == "c" and dtype == "float64" else wanted
        if wanted not in dtypes or (kind == "b" and dtype == "bool"):
            continue
        x = np.array([3, 1], dtype)
        right, left = x.astype(wanted), np.asarray(number, wanted)
        yield "add", Case((x, number), right + left)
        yield "subtract", Case((number, x), np.asarray(left - right, wanted))
        if wanted[0] == "f":
            yield "divide", Case((number, x), np.asarray(left / right, wanted))
        yield "where", Case((np.array([False, True]), number, x), np.where([False, True], left, right))
        yield "where", Case((np.array([False, True]), x, number), np.where([False, True], right, left))
        yield "equal", Case((x, number), right == left)
        if dtype == "float64" and kind == "f":  # a scalar of NumPy is an array of its dtype
            yield "add", Case((number / 5, x[0]), np.asarray(number / 5 + x[0]))
        if dtype in ("float64", "complex128") and kind in "fc" and wanted == dtype:  # not rounded to fewer bits before
            yield "add", Case((x, number / 5), np.asarray(x + number / 5))
        if wanted[0] not in "bc":
            places = np.searchsorted(np.sort(right), left).astype("int32")
            yield "searchsorted", Case((np.sort(x), number), np.asarray(places))
        if wanted == dtype and kind == np.dtype(dtype).kind == "f":  # the number is rounded to the dtype beside it
            vector = np.array([number / 5, 1], dtype)
            yield "searchsorted", Case((vector, number / 5), np.asarray(1, "int32"), {"side": "right"})


def host_calls(dtypes: tuple[str, ...]) -> Iterator[tuple[str, Case]]:
    """Yields calls of numbers alone and of tuples, which become arrays of their default dtypes, and then one dtype."""
    for one, other, dtype in ((1, 2.5, "float32"), (1, 2, "int32"), (True, 2, "int32"), (1.5, 1j, "complex64")):
        if dtype not in dtypes:
            continue
        left, right = np.asarray(one, dtype), np.asarray(other, dtype)
        yield "add", Case((one, other), np.asarray(left + right))
        yield "where", Case((np.array([True, False]), one, other), np.where([True, False], left, right))
        yield "stack", Case(((one, other),), np.stack([left, right]))
    yield "divide", Case((1, 2), np.asarray(0.5, "float32"))
    yield "maximum", Case(((1, 3), 2.5), np.asarray([2.5, 3], "float32"))
    for whole in (3, (1, 0), ((True, False),)):
        yield "astype", Case((whole, "float32"), np.asarray(whole, "float32"))
    for name in ("sqrt", "exp", "mean", "std"):
        for given in (4, True, (1, 4), ((1, 2), (3, 4)), (True, False), np.int32(4), np.float16(4)):
            dtype = given.dtype.name if isinstance(given, np.floating) else "float32"
            if dtype not in dtypes:
                continue
            wanted = np.asarray(getattr(np, name)(np.asarray(given, "float64"))).astype(dtype)
            yield name, Case((given,), wanted, near=True)
    for name in ("negative", "sum", "max", "sort"):
        for numbers, dtype in (((3, 1, 2), "int32"), ((1.5, -2), "float32")):
            yield name, Case((numbers,), np.asarray(getattr(np, name)(np.asarray(numbers, dtype))).astype(dtype))


def float_calls(dtypes: tuple[str, ...]) -> Iterator[tuple[str, Case]]:
    """Yields calls of functions of floats with arrays of integers and of bool: the results are float32."""
    for name, dtype in itertools.product(FLOAT_FUNCTIONS, dtypes):
        if np.dtype(dtype).kind in "biu":
            x = np.array([1, 1] if name == "acosh" else [0, 0] if name == "atanh" else [1, 0], dtype)
            given = (x, np.array([1, 1], dtype)) if name in _OF_TWO else (x,)
            wide = [one.astype("float64") for one in given]
            function = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh",
                        "atanh": "arctanh", "atan2": "arctan2"}.get(name, name)  # fmt: skip
            yield name, Case(given, np.asarray(getattr(np, function)(*wide)).astype("float32"), near=True)


def narrow_calls(dtypes: tuple[str, ...]) -> Iterator[tuple[str, Case]]:
    """Yields sums, products and means of many numbers of float16: computed in 32 bits or more, and rounded once."""
    if "float16" not in dtypes:
        return
    many = np.ones((2, 2051), "float16")
    many[0, 0] = 3
    few = np.full((1, 9), 1.5, "float16")  # the product has 15 bits, and those on the way have more than 11
    long = (1 + np.arange(27) * 7 % 16 / 16).astype("float16").reshape(9, 3)  # rounded at each step they differ
    axes = (None, 0, 1, -1, (0, 1), ())
    for x, axis, keepdims in itertools.product((many, few, many.T, long, long.T), axes, (False, True)):
        wide, how = x.astype("float64"), {"axis": axis, "keepdims": keepdims}
        exact = wide.sum(axis, keepdims=keepdims)
        yield "sum", Case((x,), np.asarray(exact).astype("float16"), how)
        if np.prod(x.shape) / max(np.size(exact), 1) > 3:
            yield "mean", Case((x,), np.asarray(wide.mean(axis, keepdims=keepdims)).astype("float16"), how, near=True)
            yield "prod", Case((x,), np.asarray(wide.prod(axis, keepdims=keepdims)).astype("float16"), how)
    for axis in (0, 1, -1):
        yield "cumulative_sum", Case((many,), np.cumsum(many.astype("float64"), axis).astype("float16"), {"axis": axis})
        found = np.cumprod(few.astype("float64"), axis).astype("float16")
        yield "cumulative_prod", Case((few,), found, {"axis": axis})
