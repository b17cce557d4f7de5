"""Calls of functions of elements, of one array and of two: every pair of unusual numbers, dtypes, unlike shapes.

Numbers are the extremes of integers, zeros of both signs, infinities and NaN; none is subnormal, since processors may
flush those. Arrays have no axis, more than 1,000 elements, or shapes that broadcast. It calls no backend.
"""

import itertools
from typing import Any, Final

import numpy as np

from simstrategy_conformance.calls import FLOATS, PLAIN, Case, Host
from simstrategy_conformance.set_calls import Calls, scattered

__all__ = ["elementwise_calls"]

_OF_INTEGERS: Final = ("negative", "positive", "abs", "sign", "square", "conj", "logical_not")
_OF_FLOATS: Final = (*_OF_INTEGERS, "signbit", "floor", "ceil", "trunc", "round", "isfinite", "isinf", "isnan")
_CURVES: Final = {
    "asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh",
    **{name: name for name in ("sqrt", "exp", "expm1", "log", "log1p", "log2", "log10", "sinh", "cosh", "tanh")},
    **{name: name for name in ("sin", "cos", "tan", "reciprocal")},
}  # fmt: skip
_PLANES: Final = {"hypot": "hypot", "logaddexp": "logaddexp", "atan2": "arctan2", "pow": "power"}
_ROUNDED: Final = ("float16", *FLOATS)
_ALIKE: Final = ("add", "subtract", "multiply", "equal", "not_equal", "logical_and", "logical_or", "logical_xor")
_ORDER: Final = ("maximum", "minimum", "less", "less_equal", "greater", "greater_equal")
_BITS: Final = ("bitwise_and", "bitwise_or", "bitwise_xor")
_SHIFTS: Final = ("bitwise_left_shift", "bitwise_right_shift")
_SIGNED: Final = ("copysign", "nextafter")
_WHOLE: Final = ("floor_divide", "remainder")
_SHAPES: Final = (((2, 3), (3,)), ((2, 1), (3,)), ((), (2, 2)), ((0, 1), (3,)), ((2, 1, 3), (4, 1)))
_LONG: Final = 1001
_SPECIAL: Final = (float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 0.5, -1.5, 2.5, -7.0)


def elementwise_calls(dtypes: tuple[str, ...]) -> Calls:
    """Yields the calls, the name of a function with each.  dtypes: those that the arrays may have."""
    for dtype in (one for one in (*PLAIN, "float16", "int8", "uint8", "bool") if one in dtypes):
        numbers = _numbers(dtype)
        one, other = (part.reshape(-1) for part in np.meshgrid(numbers, numbers))
        long = scattered((_LONG,), dtype)
        for name in _ones(dtype):
            for x in (numbers, long, *(np.asarray(number) for number in numbers)):
                yield name, _case(name, _signed_alike(name, x))
        for name in _twos(dtype):
            pairs = [(one, other), (long, np.flip(long)), (long[:1], long)]
            pairs += [(np.asarray(x), np.asarray(y)) for x, y in itertools.product(numbers[-3:], repeat=2)]
            pairs += [(scattered(left, dtype), scattered(right, dtype)) for left, right in _SHAPES]
            for x, y in pairs:
                yield name, _case(name, *_allowed(name, x, y))
    for parts in (one for one in ("complex64", "complex128") if one in dtypes):
        yield from _parts(parts)
    yield from _curves(dtypes)
    yield from _chosen(dtypes)


def _numbers(dtype: str) -> Host:
    if dtype == "bool":
        return np.array([True, False])
    if dtype in _ROUNDED:
        return np.array(_SPECIAL, dtype)
    least, most = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    return np.array([least, most, 0, 1, 2, 5, 100, *((-1, -7) if least else ())], dtype)


def _ones(dtype: str) -> tuple[str, ...]:
    if dtype == "bool":
        return ("logical_not", "bitwise_invert")
    return _OF_FLOATS if dtype in _ROUNDED else (*_OF_INTEGERS, "bitwise_invert", "floor", "round")


def _twos(dtype: str) -> tuple[str, ...]:
    if dtype == "bool":
        return (*_BITS, "logical_and", "logical_or", "logical_xor", "equal", "not_equal")
    return (*_ALIKE, *_ORDER, *_WHOLE, *(_SIGNED if dtype in _ROUNDED else (*_BITS, *_SHIFTS)))


def _allowed(name: str, x: Host, y: Host) -> tuple[Host, Host]:
    """Returns arrays [...] of what has one result: which zero is the larger, and a division by 0, have several."""
    if name in ("maximum", "minimum") and x.dtype.kind == "f":
        return np.asarray(x + 0), np.asarray(y + 0)
    if name in _WHOLE:
        small = np.where(np.abs(np.nan_to_num(x.astype("float64"))) > 99, 5, np.nan_to_num(x))
        return np.asarray(small + 0, x.dtype), np.asarray(np.where(np.isin(y, (1, 2, 4)), y, 4), x.dtype)
    if name in _SHIFTS:
        return x, np.asarray(y % 7, x.dtype)
    if name == "copysign":
        return x, _signed_alike("signbit", y)
    if name == "nextafter":
        return np.asarray(np.where(np.abs(x) > 0, x, 20), x.dtype), y
    return x, y


def _signed_alike(name: str, x: Host) -> Host:
    """Returns an array [...] of what has one result: the sign of NaN, and the sign of -0.0, are the framework's."""
    if name == "sign":
        return np.asarray(x + 0, x.dtype)
    return np.asarray(np.nan_to_num(x, nan=1.0, posinf=np.inf, neginf=-np.inf)) if name == "signbit" else x


def _case(name: str, *arrays: Host) -> Case:
    function = {"conj": "conjugate", "bitwise_invert": "invert", "round": "rint"}.get(name, name)
    if name in ("floor", "round") and arrays[0].dtype.kind in "iu":
        return Case(arrays, arrays[0])
    wanted = np.asarray(getattr(np, function)(*arrays))
    # Of a quotient that is 0 the sign is the framework's.
    return Case(arrays, wanted, near=name in _WHOLE)


def _parts(dtype: str) -> Calls:
    real, imaginary = (part.reshape(-1) for part in np.meshgrid(np.arange(-3, 4) / 2, np.arange(-3, 4) / 4))
    for x in ((real + 1j * imaginary).astype(dtype), np.asarray(0.5 - 2j, dtype)):
        for name in ("conj", "real", "imag", "negative", "positive"):
            yield name, Case((x,), np.array(getattr(np, name)(x)))
        if x.ndim:
            square = x.reshape(7, 7)
            yield "divide", Case((square, 4.0), np.asarray(square / 4, dtype), near=True)
        y = np.asarray(np.flip(x)) if x.ndim else x
        for below in (np.array(4), np.array([2, -4]), np.array([[1], [-2], [8]])):
            over = np.repeat(x.reshape(-1, 1), 2, -1)[:3] if below.ndim else x
            yield "divide", Case((over, below.astype(x.real.dtype)), np.asarray(over / below, dtype), near=True)
            yield (
                "divide",
                Case(
                    (x.reshape(-1)[:1], below.astype(x.real.dtype)),
                    np.asarray(x.reshape(-1)[:1] / below, dtype),
                    near=True,
                ),
            )
        for name in ("add", "subtract", "multiply", "equal", "not_equal"):
            yield name, Case((x, y), np.asarray(getattr(np, name)(x, y)), near=name == "multiply")


def _curves(dtypes: tuple[str, ...]) -> Calls:
    """Yields functions of floats where they have no value, or an infinite one; and of many numbers."""
    for dtype in (one for one in _ROUNDED if one in dtypes):
        long = (np.arange(_LONG) % 61 / 64).astype(dtype)
        for x in (np.array([-7, -0.0, np.nan, np.inf], dtype), long):
            yield "divide", Case((x, np.full_like(x, 4)), x / np.asarray(4, dtype))
            for name, function in _CURVES.items():
                wanted = getattr(np, function)(x.astype("float64")).astype(dtype)
                yield name, Case((x,), wanted, near=True)
        for x, y in ((long + np.asarray(0.5, dtype), np.flip(long)), (long[1:2], long), (long[7], long[9])):
            wide = [one.astype("float64") for one in (np.asarray(x), np.asarray(y))]
            for name, function in _PLANES.items():
                wanted = np.asarray(getattr(np, function)(*wide)).astype(dtype)
                yield name, Case((np.asarray(x), np.asarray(y)), wanted, near=True)


def _chosen(dtypes: tuple[str, ...]) -> Calls:
    for dtype in (one for one in (*PLAIN, "bool") if one in dtypes):
        for shapes in (((3,), (2, 3), ()), ((2, 1), (3,), (3,)), ((), (2,), (2,)), ((3, 3),) * 3, ((_LONG,),) * 3):
            which, x, y = scattered(shapes[0], "bool"), *(scattered(shape, dtype) for shape in shapes[1:])
            y = np.asarray(np.flip(y))
            yield "where", Case((which, x, y), np.where(which, x, y))
        x = scattered((3, 4), dtype)
        for least, most in itertools.product((None, -2, 0), (None, 1, 3)) if dtype != "bool" else ():
            how: dict[str, Any] = {key: one for key, one in (("min", least), ("max", most)) if one is not None}
            yield "clip", Case((x,), np.clip(x, least, most), how)
