"""How TensorFlow's functions become the namespace's: what they adopt, where they compute, and for which dtypes.

Where TensorFlow has no kernel for a dtype, a wider one is used and the result cast back.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import tensorflow as tf
import tensorflow.experimental.numpy as tnp

from simstrategy.errors import InvalidType
from simstrategy_tensorflow.promotion import Defaulting, at, promoted, tensor

__all__ = [
    "along",
    "axes_of",
    "axis_of",
    "binary",
    "divide",
    "joining",
    "logical",
    "matmul",
    "narrow",
    "no_bools",
    "of_some",
    "ours",
    "pairing",
    "place_of",
    "several",
    "take",
    "take_along_axis",
    "through",
    "truth",
    "unary",
]

Function = Callable[..., Any]
_FEW: Final = 3
_RANK_MAX: Final = 256
"""No tensor has so many axes."""


# AutoGraph must not convert these methods where a converted program calls them: it takes long and changes nothing.
ours: Final[Any] = tf.autograph.experimental.do_not_convert


def unary(
    function: Function, *, bools: Function | None = None, integers: Function | None = None, floats: bool = False
) -> Any:
    """Makes a method of one array and settings.

    bools, integers: what is done for those instead. floats: integers and bool are computed as float32.
    """

    def call(_self: Defaulting, x: Any, /, *settings: Any, **keywords: Any) -> Any:
        with at(_self, x):
            array = tensor(x)
            if floats and (array.dtype.is_bool or array.dtype.is_integer):
                array = tf.cast(array, tf.float32)
            special = bools if array.dtype.is_bool else integers if array.dtype.is_integer else None
            return (special or function)(array, *settings, **keywords)

    return ours(call)


def binary(function: Function, *, bools: Function | None = None, floats: bool = False) -> Any:
    """Makes a method of two arrays.  bools: what is done for bool instead. floats: integers are computed as float32."""

    def call(_self: Defaulting, x1: Any, x2: Any, /) -> Any:
        with at(_self, x1, x2):
            a, b = x1, x2
            if floats or not (isinstance(a, tf.Tensor) and isinstance(b, tf.Tensor) and a.dtype == b.dtype):
                a, b = promoted(a, b, floats=floats)
            return (bools if bools is not None and a.dtype.is_bool else function)(a, b)

    return ours(call)


def take_along_axis(x: Any, indices: Any, *, axis: int = -1) -> Any:
    """Gathers row by row, with the axis moved to the end; the other axes broadcast as in NumPy."""
    if len(tensor(indices).shape) != len(x.shape):
        raise ValueError("indices of other dimensions")
    places = tnp.moveaxis(_counted(x, indices, axis), axis, -1)
    rows = tnp.moveaxis(x, axis, -1)
    outer = np.broadcast_shapes(tuple(rows.shape[:-1]), tuple(places.shape[:-1]))
    rows = tf.broadcast_to(rows, (*outer, rows.shape[-1]))
    places = tf.broadcast_to(places, (*outer, places.shape[-1]))
    return tnp.moveaxis(tf.gather(rows, places, axis=-1, batch_dims=len(outer)), -1, axis)


def axes_of(x: Any, axis: Any) -> list[int]:
    """Returns axes as a list without negative ones.  Raises IndexError for one that x does not have."""
    count = len(x.shape)
    axes = list(range(count)) if axis is None else [axis] if isinstance(axis, int) else list(axis)
    if any(not -count <= one < count for one in axes):
        raise IndexError(f"there is no axis {axis}")
    return [one % count for one in axes]


def along(function: Function) -> Function:
    """Makes a reduction that raises IndexError for an axis that x does not have: TensorFlow takes 2**40 for 0."""

    def call(x: Any, *, axis: Any = None, **how: Any) -> Any:
        if axis is not None and x.shape.rank is not None:
            axes_of(x, axis)
        return function(x, axis=axis, **how)

    return call


def axis_of(x: Any, axis: Any) -> int:
    """Returns one axis, not negative.  Raises TypeError for none or several, IndexError for one that is not there."""
    if not isinstance(axis, (int, np.integer)):
        raise TypeError("one axis")
    return axes_of(x, axis)[0]


def joining(function: Function) -> Any:
    """Makes a method that joins several arrays of one dtype; no axis joins them flat."""

    def call(_self: Defaulting, arrays: Any, /, *, axis: int | None = 0) -> Any:
        with at(_self, *arrays):
            parts = promoted(*arrays)
            if axis is None:
                return function([tf.reshape(one, (-1,)) for one in parts], 0)
            if not -_RANK_MAX <= axis < _RANK_MAX:  # TensorFlow takes 2**40 for 0
                raise IndexError(f"there is no axis {axis}")
            return function(parts, axis)

    return ours(call)


def several(function: Function) -> Any:
    """Makes a method of any number of arrays that returns as many."""

    def call(_self: Defaulting, *arrays: Any, **settings: Any) -> list[Any]:
        with at(_self, *arrays):
            return list(function(*[tensor(array) for array in arrays], **settings))

    return ours(call)


def pairing(function: Function) -> Any:
    """Makes a method of two arrays of one dtype, and settings."""

    def call(_self: Defaulting, x1: Any, x2: Any, /, **settings: Any) -> Any:
        with at(_self, x1, x2):
            return function(*promoted(x1, x2), **settings)

    return ours(call)


def through(wider: str, function: Function, dtypes: str) -> Function:
    """Makes a function that computes some dtypes in a wider one and casts back; integers wrap as they should."""
    narrow = frozenset(dtypes.split())

    def call(first: Any, *others: Any, **how: Any) -> Any:
        if first.dtype.name not in narrow:
            return function(first, *others, **how)
        wide = [tf.cast(one, wider) if isinstance(one, tf.Tensor) else one for one in (first, *others)]
        return tf.cast(function(*wide, **how), first.dtype)

    return call


def divide(_self: Defaulting, x1: Any, x2: Any, /) -> Any:
    """Divides; a complex tensor by real numbers part by part, where TensorFlow makes NaN of an infinite part."""
    with at(_self, x1, x2):
        is_complex = isinstance(x1, tf.Tensor) and x1.dtype.is_complex
        if is_complex and not (isinstance(x2, (complex, np.complexfloating)) or tensor(x2).dtype.is_complex):
            top, bottom = promoted(tf.math.real(x1), x2)
            imaginary, _ = promoted(tf.math.imag(x1), bottom)
            bottom = _unseen(bottom, x2)
            return tf.complex(top / bottom, imaginary / bottom)
        top, bottom = promoted(x1, x2, floats=True)
        return tf.truediv(top, _unseen(bottom, x2))


def _unseen(divisor: Any, given: Any) -> Any:
    """Returns a divisor of which the optimizer of graphs does not know that it is constant.

    It would multiply by the reciprocal, which rounds twice. given: what the divisor was made of.
    """
    if tf.executing_eagerly() or isinstance(given, (tf.Tensor, tf.Variable)):
        return divisor
    return tf.raw_ops.PlaceholderWithDefault(input=divisor, shape=divisor.shape)


def truth(x: Any) -> Any:
    """Returns whether numbers are not 0; TensorFlow drops the imaginary part of a complex number."""
    array = tensor(x)
    return array if array.dtype.is_bool else tf.not_equal(array, tf.zeros_like(array))


def logical(function: Function) -> Any:
    """Makes a method of two arrays that need no common dtype."""

    def call(_self: Defaulting, x1: Any, x2: Any, /) -> Any:
        with at(_self, x1, x2):
            return function(truth(x1), truth(x2))

    return ours(call)


def no_bools(*_values: Any) -> Any:
    """Raises TypeError: what the function does to numbers has no meaning for bool."""
    raise TypeError("bool is no number")


def narrow(function: Function) -> Function:
    """Makes a sum, product or mean that computes float16 and bfloat16 in float32, and rounds once.

    Up to three numbers are combined in their dtype, as TensorFlow's strategies do.
    """

    def call(x: Any, *, axis: Any = None, **how: Any) -> Any:
        if x.dtype not in (tf.float16, tf.bfloat16):
            return function(x, axis=axis, **how)
        sizes = [x.shape[one] for one in axes_of(x, axis)]
        if None not in sizes and np.prod(sizes) <= _FEW:
            return function(x, axis=axis, **how)
        return tf.cast(function(tf.cast(x, tf.float32), axis=axis, **how), x.dtype)

    return call


def of_some(function: Function) -> Function:
    """Makes a reduction that refuses to reduce nothing, for which TensorFlow has an answer and NumPy none."""

    def call(x: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
        if 0 in x.shape and 0 not in np.delete(x.shape, slice(None) if axis is None else axis):
            raise ValueError("nothing has no largest or smallest")
        return function(x, axis=axis, keepdims=keepdims)

    return call


def place_of(function: Function) -> Function:
    """Makes `argmax` or `argmin`: the first place, or that of the first NaN, which TensorFlow passes over; int32."""

    def call(x: Any, *, axis: int | None, keepdims: bool) -> Any:
        flat, along = (tf.reshape(x, (-1,)), 0) if axis is None else (x, axis)
        index = function(flat, along, tf.int32)
        if x.dtype.is_floating:
            lost = tf.math.is_nan(flat)
            index = tf.where(tf.reduce_any(lost, along), tf.argmax(tf.cast(lost, tf.int8), along, tf.int32), index)
        if keepdims:
            index = tf.reshape(index, (1,) * len(x.shape)) if axis is None else tf.expand_dims(index, along)
        return index

    return call


def matmul(a: Any, b: Any) -> Any:
    """Multiplies matrices; a vector is a row on the left and a column on the right, and goes again."""
    row, column = len(a.shape) == 1, len(b.shape) == 1
    product = tf.matmul(a[tf.newaxis] if row else a, b[:, tf.newaxis] if column else b)
    gone = [axis for axis, vector in ((-2, row), (-1, column)) if vector]
    return tf.squeeze(product, gone) if gone else product


def _counted(x: Any, indices: Any, axis: int) -> Any:
    places = tensor(indices)
    if not places.dtype.is_integer:
        raise InvalidType(f"xp.take needs integers as indices, got {places.dtype.name}. Cast them first.")
    places = places if places.dtype == tf.int32 else tf.cast(places, tf.int64)
    size = tf.cast(tf.shape(x)[axis], places.dtype)
    return tf.where(places < 0, places + size, places)


def take(x: Any, indices: Any, *, axis: int) -> Any:
    """Counts from the end where an index is negative, as NumPy does; beyond the ends TensorFlow raises."""
    if axis is None:
        raise TypeError("TensorFlow takes it for axis 0")
    return tf.gather(x, _counted(x, indices, axis), axis=axis)
