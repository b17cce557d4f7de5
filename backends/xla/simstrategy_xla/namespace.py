"""JAX's array functions with the rules of `simstrategy.device.namespace`.

All arithmetic and all promotion is JAX's; NumPy makes arrays of host data. Everything is committed to a
device, because JAX moves what is not to its default device without a word. On CPUs XLA takes subnormal
numbers for zero.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, final

import jax
import jax.numpy as jnp
import numpy as np

from simstrategy.device import Array, ArrayNamespace, canonical_dtype, default_dtype
from simstrategy.errors import InvalidArgument, InvalidType, Unsupported

__all__ = ["NO_VALUE", "XlaNamespace", "committed", "config", "dtypes_here", "require_values"]

_NAMES: Final = (
    *("bool", "int8", "int16", "int32", "uint8", "uint16", "uint32"),
    *("float16", "bfloat16", "float32", "complex64"),
)
_WIDE: Final = {"int64": "int32", "uint64": "uint32", "float64": "float32", "complex128": "complex64"}
NO_VALUE: Final = "which has no value while JAX traces"
"""What tells that tracing was in the way, in the text of an error."""
_Function = Callable[..., Any]
config: Final[Any] = jax.config
"""JAX's settings, as this process and thread have them; JAX gives them no types."""


def dtypes_here() -> dict[str, np.dtype[Any]]:
    """Returns the dtypes by name; the wide ones only in JAX's 64-bit mode, since JAX truncates them outside."""
    return {name: jnp.dtype(name) for name in (*_NAMES, *(_WIDE if config.jax_enable_x64 else ()))}


def committed(array: Array) -> Array:
    """Returns an array bound to the device it is on.  A tracer, which is on none yet, stays as it is."""
    if isinstance(array, jax.core.Tracer) or array.committed:
        return array
    return jax.device_put(array, array.sharding)


def require_values(arrays: Sequence[Array], what: str) -> None:
    """Raises Unsupported for tracers: what is done with them is not done again when a program runs again."""
    for array in arrays:
        if isinstance(array, jax.core.Tracer):
            raise Unsupported(
                f"The backend 'xla' was asked for {what} with a tracer {array.dtype}{list(array.shape)}, {NO_VALUE}. "
                f"Meet, read and write outside jax.jit, vmap and scan, and compile what lies between. Take jax.grad in "
                f"the replica function: under it, ctx.all_reduce and ctx.all_gather can meet."
            )


def _bound(array: Array, device: Any) -> Array:
    # While a function is compiled nothing has a device: it runs where its arguments are.
    return array if isinstance(array, jax.core.Tracer) else jax.device_put(array, device)


def _moved(array: Array, device: Any) -> Array:
    return array if isinstance(array, jax.core.Tracer) or array.device == device else jax.device_put(array, device)


def _divide(x1: Any, x2: Any) -> Array:
    """Divides correctly rounded: by a divisor that it broadcasts itself, XLA multiplies with the reciprocal."""
    shape = jnp.broadcast_shapes(jnp.shape(x1), jnp.shape(x2))
    like = x2 if _is_weak(x1) else x1
    if _is_weak(x2) and jnp.issubdtype(like.dtype, jnp.inexact):
        x2 = jnp.full_like(like, x2)
    return jnp.true_divide(jnp.broadcast_to(x1, shape), jnp.broadcast_to(x2, shape))


def _is_weak(value: Any) -> bool:
    return isinstance(value, (bool, int, float, complex)) and not isinstance(value, np.generic)


def _is_elsewhere(value: Any, device: Any) -> bool:
    return isinstance(value, jax.Array) and not isinstance(value, jax.core.Tracer) and value.device != device


def _unary(function: _Function) -> Any:
    """Makes a method of one array and settings."""

    def call(_self: "XlaNamespace", x: Any, /, *settings: Any, **keywords: Any) -> Any:
        array = _self.asarray(x)
        return _self.placed(function(array, *settings, **keywords), array)

    return call


def _binary(function: _Function, **settings: Any) -> Any:
    def call(_self: "XlaNamespace", x1: Any, x2: Any, /) -> Any:
        a, b = _self.operands((x1, x2))
        return _self.placed(function(a, b, **settings), a, b)

    return call


def _joining(function: _Function) -> Any:
    def call(_self: "XlaNamespace", arrays: Any, /, *, axis: int = 0) -> Any:
        parts = _self.operands(arrays)
        return _self.placed(function(parts, axis), *parts)

    return call


def _keeping(function: _Function) -> _Function:
    return lambda x, **how: function(x, dtype=x.dtype, **how)


@final
class XlaNamespace:
    """See `simstrategy.device.namespace`; outside replica functions, `devices[0]` is where things are created."""

    __slots__ = ("_devices", "_dtypes")

    def __init__(self, devices: tuple[jax.Device | None, ...], dtypes: dict[str, np.dtype[Any]]) -> None:
        # None stands for wherever a program that is traced will run.
        self._devices = devices
        self._dtypes = dtypes

    @property
    def dtypes(self) -> dict[str, np.dtype[Any]]:
        """JAX's dtypes by name."""
        return self._dtypes

    def named(self, dtype: Any) -> np.dtype[Any]:
        """Returns the dtype of a name or NumPy dtype.  Raises InvalidArgument for one that is not here."""
        name = canonical_dtype(dtype)
        if name in self._dtypes:
            return self._dtypes[name]
        if name in _WIDE:
            raise InvalidArgument(
                f"{name} needs JAX's 64-bit mode, which was off when this backend was opened: JAX would truncate it in "
                f'silence. Open it with ss.backend("xla", x64=True), set JAX_ENABLE_X64=1, or cast to {_WIDE[name]} '
                f"first."
            )
        raise InvalidArgument(f"There is no dtype {name!r} on XLA; choose from {', '.join(self._dtypes)}.")

    def device_of(self, *values: Any) -> Any:
        """Returns where the first array is, else the running replica's device.  Of several devices: their sharding."""
        for value in values:
            if isinstance(value, jax.Array) and not isinstance(value, jax.core.Tracer):
                return value.device
        current = config.jax_default_device
        return current if current in self._devices else self._devices[0]

    def operands(self, values: Sequence[Any], *like: Any) -> list[Any]:
        """Returns arrays on one device: where they all are, else the running replica's, else the first one's.

        What another replica's device holds, such as the result of a reduction, is moved to what it meets here.
        Python numbers stay numbers beside an array, as JAX has it.
        """
        device, running = self.device_of(*values, *like), config.jax_default_device
        if running in self._devices and any(_is_elsewhere(value, device) for value in (*values, *like)):
            device = running
        if all(_is_weak(value) for value in values):
            values = (self._array(values[0], device), *values[1:])
        found = [value if _is_weak(value) else _moved(self._array(value, device), device) for value in values]
        dtypes = [one.dtype for one in found if not _is_weak(one)]
        if len({*dtypes}) == 1 and dtypes[0].kind in "iu":
            # NumPy refuses an int that does not fit, and JAX would wrap it.
            return [np.asarray(one, dtypes[0]) if type(one) is int else one for one in found]
        if len({*dtypes}) > 1 and all(dtype.kind in "iu" for dtype in dtypes):
            self.named(np.result_type(*dtypes))  # int32 and uint32 make int64, which JAX would truncate
        return found

    def _array(self, value: Any, device: Any, dtype: Any = None) -> Any:
        if isinstance(value, jax.Array):
            array = committed(value)
            return array if dtype in (None, array.dtype) else array.astype(dtype)
        if not isinstance(value, (np.ndarray, np.generic)):
            try:
                value = np.asarray(value)
            except ValueError as error:
                raise InvalidType(f"xp.asarray cannot make an array of {value!r}: {error}. Give equal rows.") from error
            dtype = dtype or self.named(default_dtype(value.dtype.kind) or value.dtype)
        # A copy of our own: JAX reads host memory later, or for ever.
        return _bound(jnp.asarray(np.array(value, dtype or self.named(value.dtype))), device)

    def placed(self, result: Any, *like: Any) -> Any:
        """Returns a result where the first array of `like` is: JAX creates some, such as isfinite of integers, anew."""
        if isinstance(result, jax.core.Tracer) or result.committed:
            return result
        return jax.device_put(result, self.device_of(*like))

    def asarray(self, value: Any, *, dtype: Any = None) -> Any:
        return self._array(value, self.device_of(value), None if dtype is None else self.named(dtype))

    def zeros(self, shape: Any, *, dtype: Any = None) -> Any:
        return self.full(shape, 0, dtype=dtype or "float32")

    def ones(self, shape: Any, *, dtype: Any = None) -> Any:
        return self.full(shape, 1, dtype=dtype or "float32")

    def full(self, shape: Any, fill_value: Any, *, dtype: Any = None) -> Any:
        wanted = self.asarray(fill_value).dtype if dtype is None else self.named(dtype)
        if not isinstance(fill_value, jax.Array):
            fill_value = np.full(np.shape(fill_value), fill_value, wanted)
        return _bound(jnp.full(shape, fill_value, wanted), self.device_of(fill_value))

    def zeros_like(self, x: Any, /, *, dtype: Any = None) -> Any:
        return self.full_like(x, 0, dtype=dtype)

    def ones_like(self, x: Any, /, *, dtype: Any = None) -> Any:
        return self.full_like(x, 1, dtype=dtype)

    def full_like(self, x: Any, /, fill_value: Any, *, dtype: Any = None) -> Any:
        like = self.asarray(x)
        filled = self.full(like.shape, fill_value, dtype=dtype or like.dtype)
        return _bound(filled, self.device_of(like))

    def arange(self, start: Any, /, stop: Any = None, step: Any = 1, *, dtype: Any = None) -> Any:
        # Host numbers: JAX rounds start and step to the result's dtype first.
        plain = np.arange(start, step=step) if stop is None else np.arange(start, stop, step)
        return self.asarray(plain, dtype=dtype or default_dtype(plain.dtype.kind))

    def eye(self, n_rows: int, n_cols: int | None = None, /, *, dtype: Any = None) -> Any:
        return _bound(jnp.eye(n_rows, n_cols, dtype=self.named(dtype or "float32")), self.device_of())

    def astype(self, x: Any, dtype: str, /) -> Any:
        return self.asarray(x, dtype=dtype)

    add = _binary(jnp.add)
    subtract = _binary(jnp.subtract)
    multiply = _binary(jnp.multiply)
    divide = _binary(_divide)
    pow = _binary(jnp.power)
    maximum = _binary(jnp.maximum)
    minimum = _binary(jnp.minimum)
    equal = _binary(jnp.equal)
    not_equal = _binary(jnp.not_equal)
    less = _binary(jnp.less)
    less_equal = _binary(jnp.less_equal)
    greater = _binary(jnp.greater)
    greater_equal = _binary(jnp.greater_equal)
    logical_and = _binary(jnp.logical_and)
    logical_or = _binary(jnp.logical_or)
    logical_not = _unary(jnp.logical_not)
    negative = _unary(jnp.negative)
    abs = _unary(jnp.abs)
    sign = _unary(jnp.sign)
    square = _unary(jnp.square)
    sqrt = _unary(jnp.sqrt)
    exp = _unary(jnp.exp)
    log = _unary(jnp.log)
    log1p = _unary(jnp.log1p)
    tanh = _unary(jnp.tanh)
    floor = _unary(jnp.floor)
    ceil = _unary(jnp.ceil)
    isfinite = _unary(jnp.isfinite)
    isnan = _unary(jnp.isnan)

    def where(self, condition: Any, x1: Any, x2: Any, /) -> Any:
        chosen = self._array(condition, self.device_of(condition, x1, x2))
        return self.placed(jnp.where(chosen, *self.operands((x1, x2), chosen)), chosen)

    # Accelerators multiply float32 in fewer bits unless told not to.
    matmul = _binary(jnp.matmul, precision=jax.lax.Precision.HIGHEST)
    permute_dims = _unary(jnp.transpose)
    reshape = _unary(jnp.reshape)
    expand_dims = _unary(jnp.expand_dims)
    squeeze = _unary(jnp.squeeze)
    broadcast_to = _unary(jnp.broadcast_to)
    concat = _joining(jnp.concatenate)
    stack = _joining(jnp.stack)

    def take(self, x: Any, indices: Any, /, *, axis: int) -> Any:
        """Counts from the end where an index is negative.  Raises InvalidArgument beyond the ends.

        While a function is compiled no index is known, and beyond the ends is NaN, or an integer's extreme.
        """
        array = self.asarray(x)
        if isinstance(indices, jax.core.Tracer):
            return self.placed(jnp.take(array, indices, axis), array)
        places, size = np.asarray(indices), array.shape[axis]
        if places.dtype.kind not in "biu":
            raise InvalidType(f"xp.take wants integers as indices, got {places.dtype}. Cast them first.")
        if places.size and not -size <= places.min() <= places.max() < size:
            raise InvalidArgument(f"xp.take got indices from {places.min()} to {places.max()} for a size of {size}.")
        return self.placed(jnp.take(array, self._array(places.astype(np.int32), self.device_of(array)), axis), array)

    sum = _unary(_keeping(jnp.sum))
    prod = _unary(_keeping(jnp.prod))
    mean = _unary(jnp.mean)
    max = _unary(jnp.max)
    min = _unary(jnp.min)
    all = _unary(jnp.all)
    any = _unary(jnp.any)
    argmax = _unary(lambda x, **how: jnp.argmax(x, **how).astype(np.int32))


if TYPE_CHECKING:
    _: ArrayNamespace = XlaNamespace((), {})
