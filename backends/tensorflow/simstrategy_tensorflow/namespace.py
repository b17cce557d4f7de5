"""TensorFlow's array functions with the rules of `simstrategy.device.namespace`.

All arithmetic is TensorFlow's. NumPy makes tensors of host data, and decides to which dtype two promote.
"""

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np
import tensorflow as tf
import tensorflow.experimental.numpy as tnp

from simstrategy.device import NAMES, ArrayNamespace, canonical_dtype, composed, filling, host_array, is_python_data
from simstrategy.device.refusals import guarded
from simstrategy_tensorflow import arithmetic
from simstrategy_tensorflow.functions import (
    along,
    axes_of,
    binary,
    divide,
    joining,
    logical,
    matmul,
    narrow,
    no_bools,
    of_some,
    ours,
    pairing,
    place_of,
    several,
    take,
    take_along_axis,
    through,
    truth,
    unary,
)
from simstrategy_tensorflow.promotion import DTYPES, at, named, promoted, tensor

__all__ = ["DTYPES", "TensorFlowNamespace", "named"]


def _shape(shape: Any) -> Any:
    return (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)


def _filled(x: Any, fill_value: Any, *, dtype: Any = None) -> Any:
    return tf.fill(tf.shape(x), _filling(fill_value, x.dtype if dtype is None else named(dtype)))


def _filling(value: Any, dtype: Any) -> Any:
    """Returns what fills an array.  Raises as `filling` for a number that the dtype does not hold."""
    is_tensor = isinstance(value, (tf.Tensor, tf.Variable))
    number = tensor(value if is_tensor or dtype is None else filling(value, dtype.as_numpy_dtype), dtype)
    if number.shape.rank:
        raise ValueError("one number")
    return number


def _of_bools(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, **how: function(tf.cast(x, tf.int8), **how)


_ARGMAX: Final = along(of_some(place_of(tf.argmax)))
_ARGMIN: Final = along(of_some(place_of(tf.argmin)))


@final
class TensorFlowNamespace:
    """See `simstrategy.device.namespace`; `default` is the placement of what is created outside replica functions."""

    __slots__ = ("default",)

    def __init__(self, default: str) -> None:
        self.default: Final = default

    def asarray(self, value: Any, *, dtype: Any = None) -> Any:
        wanted = None if dtype is None else named(dtype)
        if is_python_data(value):
            value = host_array(value, dtype and canonical_dtype(dtype), where="xp.asarray")
        with at(self, value):
            return tensor(value, wanted)

    zeros = composed.zeros
    ones = composed.ones

    def full(self, shape: Any, fill_value: Any, *, dtype: Any = None) -> Any:
        with at(self, fill_value):
            return tf.fill(_shape(shape), _filling(fill_value, None if dtype is None else named(dtype)))

    zeros_like = composed.zeros_like
    ones_like = composed.ones_like
    full_like = unary(_filled)

    def arange(self, start: Any, /, stop: Any = None, step: Any = 1, *, dtype: Any = None) -> Any:
        if any(tf.is_symbolic_tensor(one) for one in (start, stop, step)):  # integers without a value yet
            first, last = (0, start) if stop is None else (start, stop)
            return tf.range(first, last, step, dtype=named(dtype or "int64"))
        return composed.arange(self, start, stop, step, dtype=dtype)

    linspace = composed.linspace

    def eye(self, n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: Any = None) -> Any:
        with at(self):
            n_rows, n_cols = operator.index(n_rows), operator.index(n_rows if n_cols is None else n_cols)
            if not n_cols:  # TensorFlow takes it for none given
                return tf.zeros((n_rows, 0), named(dtype or "float32"))
            return tnp.eye(n_rows, n_cols, k, named(dtype or "float32"))

    meshgrid = several(arithmetic.grid)
    tril = unary(arithmetic.triangle(through("int32", tnp.tril, "bool")))
    triu = unary(arithmetic.triangle(through("int32", tnp.triu, "bool")))
    astype = unary(lambda x, dtype: tensor(x, named(dtype)))

    add = binary(tf.add, bools=tf.logical_or)
    subtract = binary(tf.subtract)
    multiply = binary(tf.multiply, bools=tf.logical_and)
    divide = ours(divide)
    floor_divide = binary(tf.math.floordiv)
    remainder = binary(tf.math.floormod)
    pow = binary(through("int64", tf.pow, "uint8 uint16 uint32 uint64"))
    maximum = binary(tf.maximum, bools=tf.logical_or)
    minimum = binary(tf.minimum, bools=tf.logical_and)
    atan2 = binary(tf.atan2, floats=True)
    copysign = binary(arithmetic.copysign, floats=True)
    hypot = binary(arithmetic.hypot, floats=True)
    logaddexp = binary(through("float32", tnp.logaddexp, "bfloat16"), floats=True)
    nextafter = binary(arithmetic.nextafter, floats=True)
    equal = binary(tf.equal)
    not_equal = binary(tf.not_equal)
    less = binary(tf.less, bools=lambda a, b: ~a & b)
    less_equal = binary(tf.less_equal, bools=lambda a, b: ~a | b)
    greater = binary(tf.greater, bools=lambda a, b: a & ~b)
    greater_equal = binary(tf.greater_equal, bools=lambda a, b: a | ~b)
    logical_and = logical(tf.logical_and)
    logical_or = logical(tf.logical_or)
    logical_xor = logical(tf.math.logical_xor)
    bitwise_and = binary(tf.bitwise.bitwise_and, bools=tf.logical_and)
    bitwise_or = binary(tf.bitwise.bitwise_or, bools=tf.logical_or)
    bitwise_xor = binary(tf.bitwise.bitwise_xor, bools=tf.math.logical_xor)
    bitwise_left_shift = binary(tf.bitwise.left_shift)
    bitwise_right_shift = binary(tf.bitwise.right_shift)

    logical_not = unary(lambda x: ~truth(x))
    bitwise_invert = unary(tf.bitwise.invert, bools=tf.logical_not)
    positive = unary(tf.identity, bools=no_bools)
    negative = unary(through("int64", tf.negative, "uint8 uint16 uint32 uint64"))
    abs = unary(tf.abs, bools=tf.identity, integers=lambda x: x if x.dtype.is_unsigned else tf.abs(x))
    sign = unary(tf.sign, integers=lambda x: tf.cast(x != 0, x.dtype) if x.dtype.is_unsigned else tf.sign(x))
    signbit = unary(arithmetic.signbit, floats=True)
    square = unary(tf.square)
    reciprocal = composed.reciprocal
    sqrt = unary(tf.sqrt, floats=True)
    exp = unary(tf.exp, floats=True)
    expm1 = unary(tf.math.expm1, floats=True)
    log = unary(tf.math.log, floats=True)
    log1p = unary(tf.math.log1p, floats=True)
    log2 = unary(through("float32", tnp.log2, "bfloat16"), floats=True)
    log10 = unary(through("float32", tnp.log10, "bfloat16"), floats=True)
    sin = unary(tf.math.sin, floats=True)
    cos = unary(tf.math.cos, floats=True)
    tan = unary(tf.math.tan, floats=True)
    asin = unary(tf.math.asin, floats=True)
    acos = unary(tf.math.acos, floats=True)
    atan = unary(tf.math.atan, floats=True)
    sinh = unary(tf.math.sinh, floats=True)
    cosh = unary(tf.math.cosh, floats=True)
    tanh = unary(tf.tanh, floats=True)
    asinh = unary(tf.math.asinh, floats=True)
    acosh = unary(tf.math.acosh, floats=True)
    atanh = unary(tf.math.atanh, floats=True)
    floor = unary(tf.floor, bools=tf.identity, integers=tf.identity)
    ceil = unary(tf.math.ceil, bools=tf.identity, integers=tf.identity)
    trunc = unary(arithmetic.trunc, bools=tf.identity, integers=tf.identity)
    round = unary(tf.round, bools=tf.identity, integers=tf.identity)
    isfinite = unary(
        lambda x: tf.math.is_finite(tf.abs(x)), bools=tf.ones_like, integers=lambda x: tf.ones_like(x, tf.bool)
    )
    isinf = unary(
        lambda x: tf.math.is_inf(tf.abs(x)), bools=tf.zeros_like, integers=lambda x: tf.zeros_like(x, tf.bool)
    )
    isnan = unary(arithmetic.isnan, bools=tf.zeros_like, integers=lambda x: tf.zeros_like(x, tf.bool))
    conj = unary(tf.math.conj)
    real = unary(arithmetic.parts(tf.math.real))
    imag = unary(arithmetic.parts(tf.math.imag))
    clip = composed.clip

    def where(self, condition: Any, x1: Any, x2: Any, /) -> Any:
        with at(self, condition, x1, x2):
            return tf.where(tensor(condition, tf.bool), *promoted(x1, x2))

    permute_dims = unary(lambda x, axes: tf.transpose(x, axes_of(x, axes)))
    matrix_transpose = unary(tf.linalg.matrix_transpose)
    moveaxis = unary(arithmetic.moveaxis)
    reshape = unary(lambda x, shape: tf.reshape(x, _shape(shape)))
    expand_dims = unary(arithmetic.expand_dims)
    squeeze = unary(arithmetic.squeeze)
    broadcast_to = unary(lambda x, shape: tf.broadcast_to(x, _shape(shape)))
    broadcast_arrays = several(tnp.broadcast_arrays)
    concat = joining(tf.concat)
    stack = joining(tf.stack)
    unstack = unary(arithmetic.unstack)
    flip = unary(arithmetic.flip)
    roll = unary(arithmetic.roll)
    repeat = unary(through("int32", arithmetic.repeat, "uint16"))
    tile = unary(through("int32", arithmetic.tile, "uint16"))
    take = unary(take)
    take_along_axis = unary(take_along_axis)

    sum = unary(along(narrow(tf.reduce_sum)), bools=along(tf.reduce_any))
    prod = unary(along(narrow(tf.reduce_prod)), bools=along(tf.reduce_all))
    cumulative_sum = unary(arithmetic.cumulative(tf.math.cumsum, tf.zeros))
    cumulative_prod = unary(arithmetic.cumulative(tf.math.cumprod, tf.ones))
    mean = unary(along(narrow(tf.reduce_mean)), floats=True)
    var = unary(arithmetic.variance, floats=True)
    std = unary(arithmetic.deviation, floats=True)
    max = unary(along(of_some(tf.reduce_max)), bools=along(of_some(tf.reduce_any)))
    min = unary(along(of_some(tf.reduce_min)), bools=along(of_some(tf.reduce_all)))
    all = unary(along(lambda x, **how: tf.reduce_all(truth(x), **how)))
    any = unary(along(lambda x, **how: tf.reduce_any(truth(x), **how)))

    def diff(self, x: Any, /, **settings: Any) -> Any:
        with at(self, x):  # TensorFlow has slices of nothing on the current device
            return composed.diff(self, x, **settings)

    matmul = binary(
        through("int64", matmul, "int8 int16 uint8 uint16 uint32 uint64"), bools=through("int32", matmul, "bool")
    )
    vecdot = pairing(through("int32", arithmetic.vecdot, "bool"))
    tensordot = pairing(arithmetic.tensordot)

    argmax = unary(_ARGMAX, bools=_of_bools(_ARGMAX))
    argmin = unary(_ARGMIN, bools=_of_bools(_ARGMIN))
    count_nonzero = unary(arithmetic.count_nonzero)
    searchsorted = pairing(arithmetic.searchsorted)
    sort = unary(arithmetic.sort)
    argsort = unary(arithmetic.argsort)


def _form(value: Any) -> tuple[tuple[int, ...], str] | None:
    if isinstance(value, (tf.Tensor, tf.Variable)):
        return tuple(value.shape), value.dtype.name
    return (value.shape, value.dtype.name) if isinstance(value, np.ndarray) else None


_FOREIGN: Final = (
    *(TypeError, ValueError, LookupError, OverflowError, AttributeError, ZeroDivisionError),
    *(tf.errors.InvalidArgumentError, tf.errors.UnimplementedError, tf.errors.NotFoundError, tf.errors.InternalError),
)
"""TensorFlow's errors that stand for a mistake in the arguments."""

for _name in NAMES:
    _method = guarded(
        vars(TensorFlowNamespace)[_name],
        _name,
        _form,
        _FOREIGN,
        tf.errors.OperatorNotAllowedInGraphError,
        exhausted=(tf.errors.ResourceExhaustedError,),
    )
    setattr(TensorFlowNamespace, _name, ours(_method))


if TYPE_CHECKING:
    _: ArrayNamespace = TensorFlowNamespace("")
