"""Functions of plain arrays where NumPy does otherwise than all backends: sums of few bits, order, wrong settings.

TypeError and ValueError here are for the caller in `functions.py`, which makes our errors of them.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from simstrategy.device.functions.reductions import Axis
from simstrategy.device.functions.shapes import require_shifts
from simstrategy.device.terms import Number
from simstrategy.sim.mixed import NARROW, Host, divided_parts, in_common

__all__ = [
    "argsort",
    "averaging",
    "grid",
    "mean",
    "nextafter",
    "of_reals",
    "part",
    "product_in_dtype",
    "roll",
    "searchsorted",
    "sort",
    "spread",
    "squeeze",
    "sum_in_dtype",
    "take",
    "triangle",
    "true_divide",
    "wide",
]

_ADD: Final[Callable[..., Host]] = np.add.reduce
_MULTIPLY: Final[Callable[..., Host]] = np.multiply.reduce
_FEW: Final = 3
"""So many numbers of float16 are added one by one in float16, as TensorFlow does."""


def true_divide(x1: Host | Number, x2: Host | Number, *, casting: Any, subok: bool) -> Host:
    """Divides; a complex array by real numbers part by part: NumPy takes an inverse, which may be one ulp off."""
    if isinstance(x1, np.ndarray) and x1.dtype.kind == "c" and not np.iscomplexobj(x2):
        return divided_parts(x1, x2)
    quotient: Host = np.true_divide(x1, x2, casting=casting, subok=subok)
    return quotient


def nextafter(x1: Host | Number, x2: Host | Number, *, casting: Any, subok: bool) -> Host:
    """Returns the next float towards x2, and x2 where both are equal; NumPy keeps the sign of a zero of float16."""
    found: Host = np.nextafter(x1, x2, casting=casting, subok=subok)
    return np.where(x1 == x2, x2, found) if found.dtype == np.float16 else found


def sum_in_dtype(array: Host, axis: Axis, dtype: np.dtype[Any] | None, out: Host | None, keepdims: bool) -> Host:
    """Sums; more than three of float16 or bfloat16 in float32, rounded once, as PyTorch and XLA do.

    Adding one by one in so few bits ends at 2,048 ones of float16, and at 256 of bfloat16.
    """
    if array.dtype.num < NARROW:
        return _ADD(array, axis, dtype, out, keepdims)
    axes = range(array.ndim) if axis is None else [axis] if isinstance(axis, int) else axis
    if math.prod([array.shape[one] for one in axes]) <= _FEW:
        return _one_by_one(array, axis, axes, keepdims)
    return np.asarray(_ADD(array.astype(np.float32), axis, None, None, keepdims)).astype(dtype)


def _one_by_one(array: Host, axis: Axis, axes: Sequence[int], keepdims: bool) -> Host:
    """Adds in the array's dtype; NumPy adds float16 in float32."""
    if array.size == 0 or not len(axes):
        return _ADD(array, axis, array.dtype, None, keepdims)
    summed = sorted({one % array.ndim for one in axes})
    kept = [one for one in range(array.ndim) if one not in summed]
    rows = np.transpose(array, [*kept, *summed]).reshape([*[array.shape[one] for one in kept], -1])
    total = np.add.accumulate(rows, axis=-1)[..., -1]
    return np.expand_dims(total, tuple(summed)) if keepdims else total


def product_in_dtype(array: Host, axis: Axis, dtype: np.dtype[Any] | None, out: Host | None, keepdims: bool) -> Host:
    """Multiplies; float16 and bfloat16 in float32, rounded once."""
    if array.dtype.num < NARROW:
        return _MULTIPLY(array, axis, dtype, out, keepdims)
    return np.asarray(_MULTIPLY(array.astype(np.float32), axis, None, None, keepdims)).astype(dtype)


def wide(function: Callable[..., Any]) -> Callable[..., Any]:
    """Makes a function of arrays that computes float16 and bfloat16 in float32 and rounds once."""

    def call(first: Host, *others: Any, **how: Any) -> Host:
        if first.dtype.num < NARROW:
            result: Host = function(first, *others, **how)
            return result
        wider = [one.astype(np.float32) if isinstance(one, np.ndarray) else one for one in (first, *others)]
        return np.asarray(function(*wider, **how)).astype(first.dtype)

    return call


def averaging(function: Callable[..., Any]) -> Callable[..., Any]:
    """Makes a mean or a variance: integers are computed as float32, and so are float16 and bfloat16, rounded once."""

    def call(array: Host, *how: Any, **keywords: Any) -> Host:
        if array.dtype.num < NARROW and array.dtype.kind in "fc":
            result: Host = function(array, *how, **keywords)
            return result
        result = function(array.astype(np.float32), *how, **keywords)
        return np.asarray(result).astype(array.dtype) if array.dtype.num >= NARROW else result

    return call


def mean(array: Host, axis: Axis, dtype: Any, out: Host | None, keepdims: bool) -> Host:
    """Averages floats and complex numbers."""
    average: Host = np.mean(array, axis, dtype, out, keepdims)
    return average


def triangle(function: Callable[..., Host]) -> Callable[..., Host]:
    """Makes `tril` or `triu`: of a vector NumPy makes a matrix, and the standard has nothing."""

    def call(x: Host, *, k: int = 0) -> Host:
        if x.ndim < 2:
            raise ValueError("no matrices")
        return function(x, k)

    return call


def part(function: Callable[..., Host]) -> Callable[..., Host]:
    """Makes `real` or `imag`: NumPy has them for real numbers too, and the standard has not."""

    def call(x: Host) -> Host:
        if x.dtype.kind != "c":
            raise TypeError("real numbers have no parts")
        return np.array(function(x))

    return call


def take(x: Host, indices: Any, *, axis: int) -> Host:
    """Picks at integers; NumPy takes bool and floats for them."""
    if axis is None or (np.size(indices) and np.asarray(indices).dtype.kind not in "iu"):
        raise TypeError("integers alone are indices, and no axis is none")
    taken: Host = np.take(x, indices, axis=axis)
    return taken


def squeeze(x: Host, axis: int | tuple[int, ...]) -> Host:
    """Removes axes of size 1; of an array without axes NumPy takes axis 0 and -1."""
    if not x.ndim and axis != ():
        raise IndexError("an array without axes")
    return np.squeeze(x, axis)


def roll(x: Host, shift: int | tuple[int, ...], *, axis: int | tuple[int, ...] | None = None) -> Host:
    """Rolls; NumPy takes shifts and axes of other numbers, and cuts floats off."""
    require_shifts(shift, axis)
    return np.roll(x, shift, axis)


def grid(*arrays: Host, **how: Any) -> Sequence[Host]:
    """Makes a grid of vectors; NumPy takes any array for one."""
    if any(array.ndim != 1 for array in arrays):
        raise ValueError("vectors alone")
    return np.meshgrid(*arrays, **how)


def sort(x: Host, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Host:
    """Sorts; NumPy has one direction, and an order of complex numbers."""
    if x.dtype.kind == "c":
        raise TypeError("complex numbers have no order")
    ordered = np.sort(x, axis=_one(axis), stable=True)
    return np.flip(ordered, axis) if descending else ordered


def _one(axis: int) -> int:
    """Returns an axis.  Raises TypeError for None, by which NumPy means the flat array."""
    if axis is None:
        raise TypeError("one axis")
    return axis


def of_reals(function: Callable[..., Any]) -> Callable[..., Any]:
    """Makes a function of a real array and settings: NumPy has an order of complex numbers."""

    def call(array: Host, *settings: Any, **how: Any) -> Any:
        if array.dtype.kind == "c":
            raise TypeError("complex numbers have no order")
        return function(array, *settings, **how)

    return call


def searchsorted(x1: Host, x2: Any, **how: Any) -> Host:
    """Finds places in a vector of real numbers."""
    values = x2 if isinstance(x2, (np.ndarray, bool, int, float, complex)) else np.asarray(x2)
    if isinstance(values, np.ndarray) and values.dtype.kind == "O":
        raise TypeError("numbers alone")
    vector, wanted = in_common(x1, values)
    if vector.dtype.kind in "bc":
        raise TypeError("real numbers alone")
    places: Host = np.searchsorted(vector, wanted, **how)
    return places


def argsort(x: Host, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Host:
    """Returns the places that sort; descending, those of the array from behind, so that equal ones keep their order."""
    if x.ndim == 0:
        _one(axis)
        raise IndexError("an array without axes")
    if not descending:
        return np.argsort(x, axis=_one(axis), stable=True)
    return np.flip(x.shape[axis] - 1 - np.argsort(np.flip(x, axis), axis=axis, stable=True), axis)


def spread(function: Callable[..., Any]) -> Callable[..., Any]:
    """Makes a variance or a deviation, of real numbers."""

    def real(array: Host, **how: Any) -> Host:
        if array.dtype.kind == "c":
            raise TypeError("no complex numbers")
        result: Host = function(array, **how)
        return result

    return averaging(real)
