"""Tensors of host data and Python numbers, where they are put, and of several dtypes: `simstrategy.device.promotion`.

No arithmetic is here.
"""

from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final, Protocol

import numpy as np
import tensorflow as tf

from simstrategy.device import canonical_dtype, cast, host_array, numeric_array
from simstrategy.device.promotion import common_dtype
from simstrategy.errors import InvalidArgument
from simstrategy_tensorflow.placement import current_placement

__all__ = ["DTYPES", "Defaulting", "at", "named", "promoted", "tensor"]

_NAMES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128"
DTYPES: Final[dict[str, Any]] = {name: tf.as_dtype(name) for name in _NAMES.split()}
_WEAK: Final = (bool, int, float, complex)
_HERE: Final = nullcontext()
_HALF: Final = 2
"""The bytes of floats that have no number near the bounds of int32."""


class Defaulting(Protocol):
    """What the functions need of their namespace: the placement of what is created outside replica functions."""

    @property
    def default(self) -> str: ...


def named(dtype: Any) -> Any:
    """Returns TensorFlow's dtype for a name or NumPy dtype.  Raises InvalidArgument for one that is not here."""
    name = canonical_dtype(dtype)
    if name not in DTYPES:
        raise InvalidArgument(f"There is no dtype {name!r} on TensorFlow; choose from {', '.join(DTYPES)}.")
    return DTYPES[name]


def at(namespace: "Defaulting", *values: Any) -> AbstractContextManager[Any]:
    """Returns what places an operation where its first tensor is, else on the running replica's device."""
    current = current_placement()
    for one in values:
        if isinstance(one, (tf.Tensor, tf.Variable)):
            return _HERE if one.device in (current, "") else tf.device(one.device)
    return _HERE if current else tf.device(namespace.default)


def tensor(value: Any, dtype: Any = None) -> Any:
    """Returns a tensor of any data.  Python numbers and lists get a default dtype, other data keep theirs."""
    if isinstance(value, (tf.Tensor, tf.Variable)):
        tensor = tf.convert_to_tensor(value)
        return tensor if dtype in (None, tensor.dtype) else _cast(tensor, dtype)
    if type(value) is not np.ndarray:
        # A dtype is a cast on purpose, as for the truth values of `where`.
        call = "xp.asarray"
        value = host_array(value, where=call) if dtype is None else numeric_array(value, where=call)
    wanted = named(dtype or value.dtype)
    return tf.constant(cast(value, np.dtype(wanted.as_numpy_dtype)), wanted)


def _cast(x: Any, dtype: Any) -> Any:
    """Returns x […] in a dtype, by the rule of `simstrategy.device.cast`: TensorFlow's devices differ."""
    dtype = tf.as_dtype(dtype)
    if not dtype.is_integer or not (x.dtype.is_floating or x.dtype.is_complex):
        return tf.cast(x, dtype)
    real = tf.math.real(x) if x.dtype.is_complex else tf.cast(x, tf.float32) if x.dtype.size == _HALF else x
    within = tf.where(real < float(dtype.max), tf.cast(real, dtype), tf.constant(dtype.max, dtype))
    within = tf.where(real <= float(dtype.min), tf.constant(dtype.min, dtype), within)
    return tf.where(tf.math.is_nan(real), tf.zeros([], dtype), within)


def _is_weak(value: Any) -> bool:
    return isinstance(value, _WEAK) and not isinstance(value, np.generic)


def promoted(*values: Any, floats: bool = False) -> list[Any]:
    """Returns tensors of one dtype, see `simstrategy.device.promotion`.  floats: float32 in place of integers."""
    if all(_is_weak(value) for value in values):
        values = (tensor(values[0]), *values[1:])
    data = [value if _is_weak(value) else tensor(value) for value in values]
    dtypes = [value.dtype for value in data if not _is_weak(value)]
    weak = [value for value in data if _is_weak(value)]
    dtype, host = dtypes[0], dtypes[0].as_numpy_dtype
    kind = (dtype.is_bool, dtype.is_integer, dtype.is_floating, dtype.is_complex).index(True)
    if any(one != dtype for one in dtypes) or any(not isinstance(one, _WEAK[: kind + 1]) for one in weak):
        dtype = named(common_dtype(tuple([one.name for one in dtypes]), tuple(map(type, weak))))
        host = dtype.as_numpy_dtype
    if floats and (dtype.is_bool or dtype.is_integer):
        dtype, host = tf.float32, np.float32
    return [tf.constant(np.asarray(one, host)) if _is_weak(one) else tensor(one, dtype) for one in data]
