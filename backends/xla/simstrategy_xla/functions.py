"""How JAX's functions become the namespace's: what they adopt, where their results are, and what JAX does otherwise."""

from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from simstrategy.device import require_shifts
from simstrategy.errors import InvalidArgument, InvalidType

__all__ = [
    "FOREIGN",
    "OTHERS",
    "as_dtype",
    "binary",
    "bound",
    "cast",
    "divide",
    "divided",
    "form",
    "int32_of",
    "is_elsewhere",
    "is_weak",
    "joining",
    "keeping",
    "logical",
    "moved",
    "ordered",
    "pairing",
    "part",
    "permuted",
    "picking",
    "roll",
    "rounded",
    "searchsorted",
    "several",
    "sorting",
    "unary",
    "unstack",
]

Function = Callable[..., Any]
FOREIGN: Final = (
    *(TypeError, ValueError, IndexError, OverflowError, AttributeError, ZeroDivisionError, NameError),
    NotImplementedError,
)
"""JAX's errors that stand for a mistake in the arguments."""
OTHERS: Final = (jax.errors.JAXTypeError, jax.errors.JAXIndexError)
"""JAX's errors of values that are not known while it traces."""


class Placing(Protocol):
    """What the functions need of their namespace: adoption, and devices."""

    def asarray(self, value: Any) -> Any: ...
    def operands(self, values: Sequence[Any], *like: Any, floats: bool = False) -> list[Any]: ...
    def placed(self, result: Any, *like: Any) -> Any: ...


def is_weak(value: Any) -> bool:
    """Returns whether a value is a Python number, which takes the dtype of the array beside it."""
    return isinstance(value, (bool, int, float, complex)) and not isinstance(value, np.generic)


def is_elsewhere(value: Any, device: Any) -> bool:
    """Returns whether a value is an array on another device."""
    return isinstance(value, jax.Array) and not isinstance(value, jax.core.Tracer) and value.device != device


def moved(array: jax.Array, device: Any) -> jax.Array:
    """Returns an array […] on a device; one that is traced has none."""
    return array if isinstance(array, jax.core.Tracer) or array.device == device else jax.device_put(array, device)


def cast(value: Any, dtype: np.dtype[Any]) -> Any:
    """Returns an array […] or a Python number in a dtype.  Raises OverflowError for an int that does not fit."""
    if not is_weak(value):
        return value if value.dtype == dtype else value.astype(dtype)
    return np.asarray(value, dtype) if dtype.kind in "biu" else np.asarray(value).astype(dtype)


def as_dtype(array: jax.Array, dtype: Any) -> jax.Array:
    """Returns an array […] in a dtype, or as it is for None; real parts of complex numbers, since JAX warns."""
    if dtype is None or dtype == array.dtype:
        return array
    real = array.real if array.dtype.kind == "c" and dtype.kind not in "cb" else array
    return real.astype(dtype)


def form(value: Any) -> tuple[tuple[int, ...], str] | None:
    """Returns the shape and dtype of an array, None for any other value."""
    return (value.shape, value.dtype.name) if isinstance(value, (jax.Array, np.ndarray)) else None


def divide(x1: Any, x2: Any) -> jax.Array:
    """Divides correctly rounded: by a divisor that it broadcasts itself, XLA multiplies with the reciprocal.

    A complex array is divided by real numbers part by part.
    """
    shape = jnp.broadcast_shapes(jnp.shape(x1), jnp.shape(x2))
    top, bottom = jnp.broadcast_to(x1, shape), jnp.broadcast_to(x2, shape)
    if jnp.iscomplexobj(top) and not jnp.iscomplexobj(bottom):
        return jax.lax.complex(jnp.true_divide(top.real, bottom), jnp.true_divide(top.imag, bottom))
    return jnp.true_divide(top, bottom)


def unary(function: Function, *, floats: bool = False, bools: bool = True) -> Any:
    """Makes a method of one array and settings.

    floats: integers are computed as float32. bools: whether it takes them.
    """

    def call(_self: "Placing", x: Any, /, *settings: Any, **keywords: Any) -> Any:
        array = _self.asarray(x)
        if floats and array.dtype.kind in "biu":
            array = array.astype(np.float32)
        elif not bools and array.dtype.kind == "b":
            raise TypeError("bool is no number")
        return _self.placed(function(array, *settings, **keywords), array)

    return call


def binary(function: Function, *, floats: bool = False, kinds: str = "biufcV", **settings: Any) -> Any:
    """Makes a method of two arrays.

    floats: integers are computed as float32. kinds: NumPy's, of the dtypes that it takes. settings: what the function
    gets besides, in every call.
    """

    def call(_self: "Placing", x1: Any, x2: Any, /) -> Any:
        a, b = _self.operands((x1, x2), floats=floats)
        if a.dtype.kind not in kinds:
            raise TypeError(f"no {a.dtype}")
        return _self.placed(function(a, b, **settings), a, b)

    return call


def divided(_self: "Placing", x1: Any, x2: Any, /) -> Any:
    """Divides; a complex array by a real number or array keeps its parts apart."""
    values = (x1, x2)
    if jnp.iscomplexobj(x1) and not jnp.iscomplexobj(x2) and not is_weak(x1):
        top, _ = _self.operands(values)
        bottom, _ = _self.operands((x2, top.real), top)
    else:
        top, bottom = _self.operands(values, floats=True)
    return _self.placed(divide(top, bottom), top, bottom)


def joining(function: Function) -> Any:
    """Makes a method that joins several arrays."""

    def call(_self: "Placing", arrays: Any, /, *, axis: int | None = 0) -> Any:
        parts = _self.operands([*arrays])
        return _self.placed(function(parts, axis), *parts)

    return call


def keeping(function: Function) -> Function:
    """Makes a function that keeps its input's dtype; float16 and bfloat16 are computed in float32, rounded once."""

    def call(x: jax.Array, **how: Any) -> jax.Array:
        if x.dtype in (jnp.float16, jnp.bfloat16):
            wide: jax.Array = function(x.astype(np.float32), dtype=np.float32, **how)
            return wide.astype(x.dtype)
        result: jax.Array = function(x, dtype=x.dtype, **how)
        return result

    return call


def int32_of(function: Function) -> Function:
    """Makes a function whose results are places or counts: int32."""
    return lambda *arrays, **how: function(*arrays, **how).astype(np.int32)


def unstack(_self: "Placing", x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    """Takes x […] apart along an axis."""
    array = _self.asarray(x)
    return tuple([_self.placed(one, array) for one in jnp.unstack(array, axis=axis)])


def pairing(function: Function, **fixed: Any) -> Any:
    """Makes a method of two arrays and settings.  fixed: what the function gets besides, in every call."""

    def call(_self: Placing, x1: Any, x2: Any, /, **settings: Any) -> Any:
        a, b = _self.operands((x1, x2))
        return _self.placed(function(a, b, **settings, **fixed), a, b)

    return call


def several(function: Function) -> Any:
    """Makes a method of any number of arrays that returns as many, each where its argument is."""

    def call(_self: Placing, *arrays: Any, **settings: Any) -> list[Any]:
        adopted = [_self.asarray(array) for array in arrays]
        results = function(*adopted, **settings)
        return [_self.placed(one, like) for one, like in zip(results, adopted, strict=True)]

    return call


def picking(function: Function) -> Any:
    """Makes a method that picks at indices; negative ones count from the end.  Raises InvalidArgument beyond the ends.

    While a function is compiled no index is known, and beyond the ends is NaN, or an integer's extreme.
    """

    def call(_self: Placing, x: Any, indices: Any, /, *, axis: int = -1) -> Any:
        array = _self.asarray(x)
        places, size = indices, array.shape[axis]
        if not isinstance(indices, jax.core.Tracer):
            host = np.asarray(indices)
            if host.dtype.kind not in "iu":
                raise InvalidType(f"xp.take needs integers as indices, got {host.dtype}. Cast them first.")
            if host.size and not -size <= host.min() <= host.max() < size:
                raise InvalidArgument(f"xp.take got indices from {host.min()} to {host.max()} for a size of {size}.")
            places = host.astype(np.int32)
        return _self.placed(function(array, places, axis=axis), array)

    return call


def part(function: Function) -> Function:
    """Makes `real` or `imag`; JAX has them for real numbers too, and the standard has not."""

    def call(x: jax.Array) -> jax.Array:
        if x.dtype.kind != "c":
            raise TypeError("real numbers have no parts")
        result: jax.Array = function(x)
        return result

    return call


def ordered(function: Function) -> Function:
    """Makes a function of an array that refuses complex numbers: they have no order."""

    def call(x: jax.Array, **how: Any) -> jax.Array:
        if x.dtype.kind == "c":
            raise TypeError("no complex numbers")
        result: jax.Array = function(x, **how)
        return result

    return call


def logical(function: Function) -> Any:
    """Makes a method of two arrays' truth: a number of Python is true or false in any dtype."""
    method = binary(function)

    def call(_self: "Placing", x1: Any, x2: Any, /) -> Any:
        return method(_self, *[bool(one) if isinstance(one, int) else one for one in (x1, x2)])

    return call


def searchsorted(x1: jax.Array, x2: jax.Array, **how: Any) -> jax.Array:
    """Finds places in x1 […], of real numbers."""
    if "b" in (x1.dtype.kind, x2.dtype.kind) or "c" in (x1.dtype.kind, x2.dtype.kind):
        raise TypeError("real numbers alone")
    return jnp.searchsorted(x1, x2, **how)


def roll(x: jax.Array, shift: int | tuple[int, ...], *, axis: int | tuple[int, ...] | None = None) -> jax.Array:
    """Rolls x […]; JAX takes shifts and axes of other numbers, and cuts floats off."""
    require_shifts(shift, axis)
    return jnp.roll(x, shift, axis)


def permuted(x: jax.Array, axes: tuple[int, ...]) -> jax.Array:
    """Returns x […] with its axes in another order; JAX reverses them for None."""
    if axes is None:
        raise TypeError("axes are integers")
    return jnp.transpose(x, axes)


def bound(array: jax.Array, device: Any) -> jax.Array:
    """Returns an array […] on a device; while a function is compiled nothing has one, and it is returned as it is."""
    return array if isinstance(array, jax.core.Tracer) else jax.device_put(array, device)


def rounded(x: jax.Array) -> jax.Array:
    """Rounds x […], real numbers; bool stays as it is."""
    if x.dtype.kind == "c":
        raise TypeError("no complex numbers")
    return x if x.dtype.kind == "b" else jnp.round(x)


def sorting(function: Function) -> Function:
    """Makes a function that sorts along one axis, equal elements in their order; JAX takes None for the flat array."""

    def call(x: jax.Array, *, axis: int = -1, descending: bool = False, stable: bool = True) -> jax.Array:
        if axis is None:
            raise TypeError("one axis")
        result: jax.Array = function(x, axis=axis, descending=descending, stable=True)
        return result

    return call
