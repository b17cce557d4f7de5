"""TensorFlow's array functions with the rules of `simstrategy.device.namespace`.

All arithmetic is TensorFlow's. NumPy makes tensors of host data, and says to which dtype two promote.
Where TensorFlow has no kernel for a dtype, a wider one is used and the result cast back.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np
import tensorflow as tf

from simstrategy.device import ArrayNamespace, canonical_dtype, default_dtype
from simstrategy.errors import InvalidArgument, InvalidType
from simstrategy_tensorflow.placement import current_placement

__all__ = ["DTYPES", "TensorFlowNamespace", "named"]

_NAMES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128"
DTYPES: Final[dict[str, Any]] = {name: tf.as_dtype(name) for name in _NAMES.split()}
_WEAK: Final = (bool, int, float, complex)
_HERE: Final = nullcontext()
_Function = Callable[..., Any]


def named(dtype: Any) -> Any:
    """Returns TensorFlow's dtype for a name or NumPy dtype.  Raises InvalidArgument for one that is not here."""
    name = canonical_dtype(dtype)
    if name not in DTYPES:
        raise InvalidArgument(f"There is no dtype {name!r} on TensorFlow; choose from {', '.join(DTYPES)}.")
    return DTYPES[name]


def _at(namespace: "TensorFlowNamespace", *values: Any) -> AbstractContextManager[Any]:
    """Returns what places an operation where its first tensor is, else on the running replica's device."""
    current = current_placement()
    for one in values:
        if isinstance(one, (tf.Tensor, tf.Variable)):
            return _HERE if one.device in (current, "") else tf.device(one.device)
    return _HERE if current else tf.device(namespace.default)


def _tensor(value: Any, dtype: Any = None) -> Any:
    """Returns a tensor of any data.  Python numbers and lists get a default dtype, other data keep theirs."""
    if isinstance(value, (tf.Tensor, tf.Variable)):
        tensor = tf.convert_to_tensor(value)
        return tensor if dtype in (None, tensor.dtype) else tf.cast(tensor, dtype)
    if not isinstance(value, (np.ndarray, np.generic)):
        try:
            value = np.asarray(value)
        except ValueError as error:
            raise InvalidType(f"xp.asarray cannot make an array of {value!r}: {error}. Give equal rows.") from error
        dtype = dtype or default_dtype(value.dtype.kind)
    wanted = named(dtype or value.dtype)
    return tf.constant(np.asarray(value).astype(wanted.as_numpy_dtype), wanted)


def _is_weak(value: Any) -> bool:
    return isinstance(value, _WEAK) and not isinstance(value, np.generic)


def _promoted(*values: Any) -> list[Any]:
    """Returns tensors of one dtype: that of the arrays among them, widened as NumPy does where it must be."""
    if all(_is_weak(value) for value in values):
        values = (_tensor(values[0]), *values[1:])
    data = [value if _is_weak(value) else _tensor(value) for value in values]
    dtypes = [value.dtype for value in data if not _is_weak(value)]
    weak = [value for value in data if _is_weak(value)]
    dtype, host = dtypes[0], dtypes[0].as_numpy_dtype
    kind = (dtype.is_bool, dtype.is_integer, dtype.is_floating, dtype.is_complex).index(True)
    if any(one != dtype for one in dtypes) or any(not isinstance(one, _WEAK[: kind + 1]) for one in weak):
        dtype = tf.as_dtype(np.result_type(*[one.as_numpy_dtype for one in dtypes], *weak))
        host = dtype.as_numpy_dtype
    return [tf.constant(np.asarray(one, host)) if _is_weak(one) else _tensor(one, dtype) for one in data]


# AutoGraph must not convert these methods where a converted program calls them: it takes long and changes nothing.
_ours = tf.autograph.experimental.do_not_convert


def _unary(function: _Function, *, bools: _Function | None = None, integers: _Function | None = None) -> Any:
    """Makes a method of one array and settings.  bools, integers: what is done for those instead."""

    def call(_self: "TensorFlowNamespace", x: Any, /, *settings: Any, **keywords: Any) -> Any:
        with _at(_self, x):
            tensor = _tensor(x)
            special = bools if tensor.dtype.is_bool else integers if tensor.dtype.is_integer else None
            return (special or function)(tensor, *settings, **keywords)

    return _ours(call)


def _binary(function: _Function, *, bools: _Function | None = None, cast: str | None = None) -> Any:
    """Makes a method of two arrays.  bools: what is done for bool instead. cast: a dtype to cast both to."""

    def call(_self: "TensorFlowNamespace", x1: Any, x2: Any, /) -> Any:
        with _at(_self, x1, x2):
            a, b = (x1, x2) if cast is None else (_tensor(x1, cast), _tensor(x2, cast))
            if not (isinstance(a, tf.Tensor) and isinstance(b, tf.Tensor) and a.dtype == b.dtype):
                a, b = _promoted(a, b)
            return (bools if bools is not None and a.dtype.is_bool else function)(a, b)

    return _ours(call)


def _joining(function: _Function) -> Any:
    def call(_self: "TensorFlowNamespace", arrays: Any, /, *, axis: int = 0) -> Any:
        with _at(_self, *arrays):
            return function(_promoted(*arrays), axis)

    return _ours(call)


def _through(wider: str, function: _Function, dtypes: str) -> _Function:
    """Makes a function that computes some dtypes in a wider one and casts back; integers wrap as they should."""
    narrow = frozenset(dtypes.split())

    def call(first: Any, *others: Any) -> Any:
        if first.dtype.name not in narrow:
            return function(first, *others)
        return tf.cast(function(*[tf.cast(one, wider) for one in (first, *others)]), first.dtype)

    return call


def _of_some(function: _Function) -> _Function:
    """Makes a reduction that refuses to reduce nothing, for which TensorFlow has an answer and NumPy none."""

    def call(x: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
        if 0 in x.shape and 0 not in np.delete(x.shape, slice(None) if axis is None else axis):
            raise InvalidArgument(f"Nothing has no largest or smallest: {list(x.shape)} along axis {axis}.")
        return function(x, axis=axis, keepdims=keepdims)

    return call


def _argmax(x: Any, *, axis: int | None, keepdims: bool) -> Any:
    """Returns the first place of the largest element, or of the first NaN, which TensorFlow passes over."""
    flat, along = (tf.reshape(x, (-1,)), 0) if axis is None else (x, axis)
    index = tf.argmax(flat, along, tf.int32)
    if x.dtype.is_floating:
        missing = tf.math.is_nan(flat)
        index = tf.where(tf.reduce_any(missing, along), tf.argmax(tf.cast(missing, tf.int8), along, tf.int32), index)
    if keepdims:
        index = tf.reshape(index, (1,) * len(x.shape)) if axis is None else tf.expand_dims(index, along)
    return index


def _matmul(a: Any, b: Any) -> Any:
    """Multiplies matrices; a vector is a row on the left and a column on the right, and goes again."""
    row, column = len(a.shape) == 1, len(b.shape) == 1
    product = tf.matmul(a[tf.newaxis] if row else a, b[:, tf.newaxis] if column else b)
    gone = [axis for axis, vector in ((-2, row), (-1, column)) if vector]
    return tf.squeeze(product, gone) if gone else product


def _take(x: Any, indices: Any, *, axis: int) -> Any:
    """Counts from the end where an index is negative, as NumPy does; beyond the ends TensorFlow raises."""
    places = _tensor(indices)
    places = places if places.dtype == tf.int32 else tf.cast(places, tf.int64)
    size = tf.cast(tf.shape(x)[axis], places.dtype)
    return tf.gather(x, tf.where(places < 0, places + size, places), axis=axis)


def _shape(shape: Any) -> Any:
    return (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)


def _filled(x: Any, fill_value: Any, *, dtype: Any = None) -> Any:
    return tf.fill(tf.shape(x), _tensor(fill_value, x.dtype if dtype is None else named(dtype)))


@final
class TensorFlowNamespace:
    """See `simstrategy.device.namespace`; `default` is the placement of what is created outside replica functions."""

    __slots__ = ("default",)

    def __init__(self, default: str) -> None:
        self.default: Final = default

    def asarray(self, value: Any, *, dtype: Any = None) -> Any:
        with _at(self, value):
            return _tensor(value, None if dtype is None else named(dtype))

    def zeros(self, shape: Any, *, dtype: Any = None) -> Any:
        return self.full(shape, 0, dtype=dtype or "float32")

    def ones(self, shape: Any, *, dtype: Any = None) -> Any:
        return self.full(shape, 1, dtype=dtype or "float32")

    def full(self, shape: Any, fill_value: Any, *, dtype: Any = None) -> Any:
        with _at(self, fill_value):
            return tf.fill(_shape(shape), _tensor(fill_value, None if dtype is None else named(dtype)))

    def arange(self, start: Any, /, stop: Any = None, step: Any = 1, *, dtype: Any = None) -> Any:
        if any(isinstance(one, tf.Tensor) for one in (start, stop, step)):  # integers that only the graph knows
            first, last = (0, start) if stop is None else (start, stop)
            return tf.range(first, last, step, dtype=named(dtype or "int64"))
        # Host numbers: tf.range adds the step up in the result's dtype, and drifts.
        plain = np.arange(start, step=step) if stop is None else np.arange(start, stop, step)
        return self.asarray(plain, dtype=dtype or default_dtype(plain.dtype.kind))

    def eye(self, n_rows: int, n_cols: int | None = None, /, *, dtype: Any = None) -> Any:
        with _at(self):
            return tf.eye(n_rows, n_cols, dtype=named(dtype or "float32"))

    def where(self, condition: Any, x1: Any, x2: Any, /) -> Any:
        with _at(self, condition, x1, x2):
            return tf.where(_tensor(condition, tf.bool), *_promoted(x1, x2))

    zeros_like = _unary(lambda x, **dtype: _filled(x, 0, **dtype))
    ones_like = _unary(lambda x, **dtype: _filled(x, 1, **dtype))
    full_like = _unary(_filled)
    astype = _unary(lambda x, dtype: _tensor(x, named(dtype)))

    add = _binary(tf.add, bools=tf.logical_or)
    subtract = _binary(tf.subtract)
    multiply = _binary(tf.multiply, bools=tf.logical_and)
    divide = _binary(tf.truediv)
    pow = _binary(_through("int64", tf.pow, "uint8 uint16 uint32 uint64"))
    maximum = _binary(tf.maximum, bools=tf.logical_or)
    minimum = _binary(tf.minimum, bools=tf.logical_and)
    equal = _binary(tf.equal)
    not_equal = _binary(tf.not_equal)
    less = _binary(tf.less, bools=lambda a, b: ~a & b)
    less_equal = _binary(tf.less_equal, bools=lambda a, b: ~a | b)
    greater = _binary(tf.greater, bools=lambda a, b: a & ~b)
    greater_equal = _binary(tf.greater_equal, bools=lambda a, b: a | ~b)
    logical_and = _binary(tf.logical_and, cast="bool")
    logical_or = _binary(tf.logical_or, cast="bool")
    logical_not = _unary(lambda x: ~_tensor(x, tf.bool))
    negative = _unary(_through("int64", tf.negative, "uint8 uint16 uint32 uint64"))
    abs = _unary(tf.abs, bools=tf.identity, integers=lambda x: x if x.dtype.is_unsigned else tf.abs(x))
    sign = _unary(tf.sign, integers=lambda x: tf.cast(x != 0, x.dtype) if x.dtype.is_unsigned else tf.sign(x))
    square = _unary(tf.square)
    sqrt = _unary(tf.sqrt)
    exp = _unary(tf.exp)
    log = _unary(tf.math.log)
    log1p = _unary(tf.math.log1p)
    tanh = _unary(tf.tanh)
    floor = _unary(tf.floor, integers=tf.identity)
    ceil = _unary(tf.math.ceil, integers=tf.identity)
    isfinite = _unary(
        lambda x: tf.math.is_finite(tf.abs(x)), bools=tf.ones_like, integers=lambda x: tf.ones_like(x, tf.bool)
    )
    isnan = _unary(
        lambda x: tf.math.is_nan(tf.abs(x)), bools=tf.zeros_like, integers=lambda x: tf.zeros_like(x, tf.bool)
    )

    matmul = _binary(
        _through("int64", _matmul, "int8 int16 uint8 uint16 uint32 uint64"), bools=_through("int32", _matmul, "bool")
    )
    permute_dims = _unary(lambda x, axes: tf.transpose(x, [axis % len(x.shape) for axis in axes]))
    reshape = _unary(lambda x, shape: tf.reshape(x, _shape(shape)))
    expand_dims = _unary(tf.expand_dims)
    # To TensorFlow, no axis means all of them.
    squeeze = _unary(lambda x, axis: tf.identity(x) if axis == () else tf.squeeze(x, axis))
    broadcast_to = _unary(lambda x, shape: tf.broadcast_to(x, _shape(shape)))
    concat = _joining(tf.concat)
    stack = _joining(tf.stack)
    take = _unary(_take)

    sum = _unary(tf.reduce_sum, bools=tf.reduce_any)
    prod = _unary(tf.reduce_prod, bools=tf.reduce_all)
    mean = _unary(tf.reduce_mean, integers=lambda x, **how: tf.reduce_mean(tf.cast(x, tf.float64), **how))
    max = _unary(_of_some(tf.reduce_max), bools=_of_some(tf.reduce_any))
    min = _unary(_of_some(tf.reduce_min), bools=_of_some(tf.reduce_all))
    all = _unary(lambda x, **how: tf.reduce_all(_tensor(x, tf.bool), **how))
    any = _unary(lambda x, **how: tf.reduce_any(_tensor(x, tf.bool), **how))
    argmax = _unary(_of_some(_argmax), bools=lambda x, **how: _of_some(_argmax)(tf.cast(x, tf.int8), **how))


if TYPE_CHECKING:
    _: ArrayNamespace = TensorFlowNamespace("")
