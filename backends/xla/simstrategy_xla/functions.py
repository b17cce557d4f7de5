"""How JAX's functions become the namespace's: what they adopt, where their results are, and what JAX does otherwise."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from simstrategy.errors import InvalidArgument, InvalidType

__all__ = [
    "binary",
    "divide",
    "int32_of",
    "is_weak",
    "joining",
    "keeping",
    "pairing",
    "picking",
    "several",
    "sorting",
    "unary",
]

Function = Callable[..., Any]


class Placing(Protocol):
    """What the functions need of their namespace: adoption, and devices."""

    def asarray(self, value: Any) -> Any: ...
    def operands(self, values: Sequence[Any], *like: Any) -> list[Any]: ...
    def placed(self, result: Any, *like: Any) -> Any: ...


def is_weak(value: Any) -> bool:
    """Returns whether a value is a Python number, which takes the dtype of the array beside it."""
    return isinstance(value, (bool, int, float, complex)) and not isinstance(value, np.generic)


def divide(x1: Any, x2: Any) -> jax.Array:
    """Divides correctly rounded: by a divisor that it broadcasts itself, XLA multiplies with the reciprocal."""
    shape = jnp.broadcast_shapes(jnp.shape(x1), jnp.shape(x2))
    like = x2 if is_weak(x1) else x1
    if is_weak(x2) and jnp.issubdtype(like.dtype, jnp.inexact):
        x2 = jnp.full_like(like, x2)
    return jnp.true_divide(jnp.broadcast_to(x1, shape), jnp.broadcast_to(x2, shape))


def unary(function: Function) -> Any:
    """Makes a method of one array and settings."""

    def call(_self: "Placing", x: Any, /, *settings: Any, **keywords: Any) -> Any:
        array = _self.asarray(x)
        return _self.placed(function(array, *settings, **keywords), array)

    return call


def binary(function: Function, **settings: Any) -> Any:
    """Makes a method of two arrays.  settings: what the function gets besides, in every call."""

    def call(_self: "Placing", x1: Any, x2: Any, /) -> Any:
        a, b = _self.operands((x1, x2))
        return _self.placed(function(a, b, **settings), a, b)

    return call


def joining(function: Function) -> Any:
    """Makes a method that joins several arrays."""

    def call(_self: "Placing", arrays: Any, /, *, axis: int | None = 0) -> Any:
        parts = _self.operands(arrays)
        return _self.placed(function(parts, axis), *parts)

    return call


def keeping(function: Function) -> Function:
    """Makes a function that keeps its input's dtype."""
    return lambda x, **how: function(x, dtype=x.dtype, **how)


def int32_of(function: Function) -> Function:
    """Makes a function whose results are places or counts: int32."""
    return lambda *arrays, **how: function(*arrays, **how).astype(np.int32)


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
            if host.dtype.kind not in "biu":
                raise InvalidType(f"xp.take needs integers as indices, got {host.dtype}. Cast them first.")
            if host.size and not -size <= host.min() <= host.max() < size:
                raise InvalidArgument(f"xp.take got indices from {host.min()} to {host.max()} for a size of {size}.")
            places = host.astype(np.int32)
        return _self.placed(function(array, places, axis=axis), array)

    return call


def sorting(function: Function) -> Function:
    """Makes a function that sorts, equal elements in their order."""
    return lambda x, *, axis=-1, descending=False, stable=True: function(
        x, axis=axis, descending=descending, stable=True
    )
