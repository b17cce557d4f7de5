"""Functions that TensorFlow has under no name, or for fewer dtypes than the standard: made of those that it has."""

from typing import Any, Final

import numpy as np
import tensorflow as tf
import tensorflow.experimental.numpy as tnp

from simstrategy.device import require_shifts
from simstrategy.errors import InvalidArgument
from simstrategy.short_repr import short_repr
from simstrategy_tensorflow.functions import axes_of, axis_of, take, through

__all__ = [
    "argsort",
    "copysign",
    "count_nonzero",
    "cumulative",
    "deviation",
    "expand_dims",
    "flip",
    "grid",
    "hypot",
    "isnan",
    "moveaxis",
    "nextafter",
    "parts",
    "repeat",
    "roll",
    "searchsorted",
    "signbit",
    "sort",
    "squeeze",
    "tensordot",
    "tile",
    "triangle",
    "trunc",
    "unstack",
    "variance",
    "vecdot",
]

_BITS: Final = {"float16": tf.int16, "bfloat16": tf.int16, "float32": tf.int32, "float64": tf.int64}
_THROUGH: Final = {tf.float16: tf.float32, tf.bfloat16: tf.float32, tf.bool: tf.int32}
"""The dtypes in which those are added up that have too few bits, or no sum."""
_SMALL: Final = "int8 int16 uint8 uint16 uint32 uint64"


def signbit(x: Any) -> Any:
    """Returns whether the first bit is set: -0.0 is not below 0."""
    return tf.bitcast(x, _BITS[x.dtype.name]) < 0


def copysign(x1: Any, x2: Any) -> Any:
    """Turns the sign where the sign bits differ."""
    return tf.where(tf.equal(signbit(x1), signbit(x2)), x1, -x1)


def trunc(x: Any) -> Any:
    """Rounds towards 0."""
    return tf.where(signbit(x), tf.math.ceil(x), tf.floor(x))


def nextafter(x1: Any, x2: Any) -> Any:
    """Returns the next float; TensorFlow has no shapes that broadcast here."""
    shape = np.broadcast_shapes(tuple(x1.shape), tuple(x2.shape))
    x, y = tf.broadcast_to(x1, shape), tf.broadcast_to(x2, shape)
    return tf.math.nextafter(x, y) if x.dtype in (tf.float32, tf.float64) else _next_half(x, y)


def _next_half(x: Any, y: Any) -> Any:
    """Returns the next float of 16 bits, which TensorFlow has not.  Away from 0 it has the bits of the next int."""
    bits = tf.bitcast(x, tf.int16)
    step = tf.where(tf.equal(x < y, x > 0), tf.ones_like(bits), -tf.ones_like(bits))
    least = tf.where(signbit(y), tf.fill(bits.shape, np.int16(-32767)), tf.ones_like(bits))
    moved = tf.bitcast(tf.where(tf.equal(x, 0), least, bits + step), x.dtype)
    return tf.where(tf.math.is_nan(x) | tf.math.is_nan(y), x + y, tf.where(tf.equal(x, y), y, moved))


def parts(function: Any) -> Any:
    """Makes `real` or `imag`, which TensorFlow has for real numbers too, and the standard has not."""

    def call(x: Any) -> Any:
        if not x.dtype.is_complex:
            raise TypeError("real numbers have no parts")
        return function(x)

    return call


def isnan(x: Any) -> Any:
    """Returns whether a part is NaN; the magnitude of an infinite part beside NaN is infinite."""
    if not x.dtype.is_complex:
        return tf.math.is_nan(x)
    return tf.math.is_nan(tf.math.real(x)) | tf.math.is_nan(tf.math.imag(x))


def grid(*arrays: Any, **how: Any) -> Any:
    """Makes a grid of vectors; TensorFlow takes any tensor for one."""
    if any(len(array.shape) != 1 for array in arrays):
        raise ValueError("vectors alone")
    return tf.meshgrid(*arrays, **how)


def expand_dims(x: Any, *, axis: int | tuple[int, ...]) -> Any:
    """Adds axes of size 1, one or several; places are those in the result."""
    axes = axis if isinstance(axis, tuple) else (axis,)
    count = len(x.shape) + len(axes)
    if any(not -count <= one < count for one in axes):
        raise IndexError(f"there is no place {axis}")
    places = sorted({one % count for one in axes})
    if len(places) < len(axes):
        raise ValueError("an axis comes twice")
    for place in places:
        x = tf.expand_dims(x, place)
    return x if places else tf.identity(x)


def squeeze(x: Any, axis: int | tuple[int, ...]) -> Any:
    """Removes axes of size 1; to TensorFlow, no axis means all of them."""
    axes = axes_of(x, axis)
    if len({*axes}) < len(axes):
        raise ValueError("an axis comes twice")
    return tf.squeeze(x, axes) if axes else tf.identity(x)


def hypot(x1: Any, x2: Any) -> Any:
    """Returns the length of a vector of two real numbers."""
    if x1.dtype.is_complex:
        raise TypeError("no complex numbers")
    return tf.sqrt(tf.square(x1) + tf.square(x2))


def variance(x: Any, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    """Divides the sum of squared distances from the mean by their number, less the correction.

    float16 and bfloat16 are computed in float32, and rounded once.
    """
    if x.dtype.is_complex:
        raise TypeError("no complex numbers")
    if x.dtype in (tf.float16, tf.bfloat16):
        wide = variance(tf.cast(x, tf.float32), axis=axis, correction=correction, keepdims=keepdims)
        return tf.cast(wide, x.dtype)
    axes = axes_of(x, axis)
    distances = x - tf.reduce_mean(x, axes, keepdims=True)
    count = float(np.prod([x.shape[one] for one in axes]))
    return tf.reduce_sum(tf.square(distances), axes, keepdims=keepdims) / tf.cast(max(count - correction, 0.0), x.dtype)


def deviation(x: Any, **how: Any) -> Any:
    """Returns the square root of the variance."""
    return tf.sqrt(variance(x, **how))


def cumulative(function: Any, initial: Any) -> Any:
    """Makes a cumulative sum or product.  initial: makes what may stand in front."""

    def call(x: Any, *, axis: int | None = None, include_initial: bool = False) -> Any:
        if axis is None and len(x.shape) != 1:
            raise ValueError("which axis?")
        along = axis_of(x, 0 if axis is None else axis)
        wide = x if x.dtype not in _THROUGH else tf.cast(x, _THROUGH[x.dtype])
        result = tf.cast(function(wide, along), x.dtype)
        first = [1 if one == along else size for one, size in enumerate(x.shape)]
        return tf.concat([initial(first, x.dtype), result], along) if include_initial else result

    return call


def triangle(function: Any) -> Any:
    """Makes `tril` or `triu`."""

    def call(x: Any, *, k: int = 0) -> Any:
        if len(x.shape) < 2:
            raise ValueError("no matrices")
        return function(x, k)

    return call


def moveaxis(x: Any, source: Any, destination: Any) -> Any:
    """Moves axes; TensorFlow computes with axes that do not exist."""
    return tnp.moveaxis(x, axes_of(x, source), axes_of(x, destination))


def flip(x: Any, *, axis: Any = None) -> Any:
    """Reverses the order along axes."""
    return tf.reverse(x, axes_of(x, axis))


def roll(x: Any, shift: Any, *, axis: Any = None) -> Any:
    """Rolls along axes, or the flat array."""
    require_shifts(shift, axis)
    if axis is None:
        return tf.reshape(tf.roll(tf.reshape(x, (-1,)), shift, 0), x.shape)
    axes = axes_of(x, axis)
    if not axes:
        return x
    return tf.roll(x, [shift] * len(axes) if isinstance(shift, int) else shift, axes)


def repeat(x: Any, repeats: Any, *, axis: int | None = None) -> Any:
    """Repeats elements along an axis, or those of the flat array."""
    return tf.repeat(x, repeats, axis)


def tile(x: Any, repetitions: tuple[int, ...]) -> Any:
    """Repeats an array whole; the shorter of shape and repetitions is led by ones."""
    count = max(len(x.shape), len(repetitions))
    shape = [1] * (count - len(x.shape)) + list(x.shape)
    return tf.tile(tf.reshape(x, shape), [1] * (count - len(repetitions)) + list(repetitions))


def unstack(x: Any, *, axis: int = 0) -> tuple[Any, ...]:
    """Takes an array apart along an axis."""
    return tuple(tf.unstack(x, axis=axis_of(x, axis)))


def vecdot(x1: Any, x2: Any, *, axis: int = -1) -> Any:
    """Sums the products along an axis of both, which has one size."""
    if x1.shape[axis] != x2.shape[axis]:
        raise InvalidArgument(f"xp.vecdot got shapes {list(x1.shape)} and {list(x2.shape)}: axis {axis} differs.")
    return tf.reduce_sum(tf.math.conj(x1) * x2, axis)


def tensordot(x1: Any, x2: Any, *, axes: Any = 2) -> Any:
    """Sums products over axes.  Raises InvalidArgument where their sizes differ, which TensorFlow would reshape."""
    first, second = (range(-axes, 0), range(axes)) if isinstance(axes, int) else axes
    sizes = [[x.shape[one] for one in over] for x, over in ((x1, first), (x2, second))]
    if sizes[0] != sizes[1]:
        raise InvalidArgument(
            f"xp.tensordot got axes={axes} of shapes {list(x1.shape)} and {list(x2.shape)}: their sizes differ."
        )
    return through("int64", lambda a, b: tf.tensordot(a, b, axes), f"bool {_SMALL}")(x1, x2)


def count_nonzero(x: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
    """Counts the elements that are not 0, in int32."""
    return tf.reduce_sum(tf.cast(tf.not_equal(x, tf.zeros_like(x)), tf.int32), axes_of(x, axis), keepdims=keepdims)


def searchsorted(x1: Any, x2: Any, *, side: str = "left", sorter: Any = None) -> Any:
    """Finds places in x1, of the flat x2: TensorFlow searches in rows."""
    if side not in ("left", "right"):
        raise InvalidArgument(f"xp.searchsorted takes side 'left' or 'right', got {short_repr(side)}.")
    ordered = x1 if sorter is None else take(x1, sorter, axis=0)
    return tf.reshape(tf.searchsorted(ordered, tf.reshape(x2, (-1,)), side), x2.shape)


def argsort(x: Any, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """Returns the places that sort, in int32; equal elements keep their order."""
    order = tf.cast(x, tf.int8) if x.dtype.is_bool else x
    return tf.argsort(order, axis_of(x, axis), "DESCENDING" if descending else "ASCENDING", stable=True)


def sort(x: Any, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """Sorts along an axis."""
    along = axis_of(x, axis)
    return (
        tf.gather(x, argsort(x, axis=along, descending=descending), axis=along, batch_dims=along)
        if (along == len(x.shape) - 1)
        else tnp.moveaxis(sort(tnp.moveaxis(x, along, -1), descending=descending), -1, along)
    )
