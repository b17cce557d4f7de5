"""Sizes of results for which there is no memory: JAX raises errors of its own, or ends the process.  No arithmetic."""

import math
from collections.abc import Callable
from functools import wraps
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

__all__ = ["allocating", "repeated", "require_size", "tiled"]

_ELEMENTS_MAX: Final = 2**60


def allocating(function: Callable[..., Any]) -> Callable[..., Any]:
    """Makes a method whose sizes decide how large its result is raise MemoryError where JAX has not so much memory."""

    @wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        try:
            return function(*arguments, **options)
        except jax.errors.JaxRuntimeError as error:
            if "RESOURCE_EXHAUSTED" in str(error):
                raise MemoryError(str(error)) from error
            raise

    return call


def require_size(sizes: Any) -> Any:
    """Returns a shape.  Raises ValueError for so many elements that XLA would end the process."""
    given = sizes if isinstance(sizes, (tuple, list)) else (sizes,)
    if math.prod([max(int(one), 1) for one in given if isinstance(one, (int, np.integer))]) >= _ELEMENTS_MAX:
        raise ValueError("no machine has so much memory")
    return sizes


def tiled(x: jax.Array, repetitions: tuple[int, ...]) -> jax.Array:
    """Repeats x […] whole along each axis.  Raises ValueError for negative numbers, with which JAX makes no program."""
    if any(count < 0 for count in repetitions):
        raise ValueError("a count is negative")
    require_size([*repetitions, *x.shape])
    return jnp.tile(x, repetitions)


def repeated(x: jax.Array, repeats: Any, **along: Any) -> jax.Array:
    """Repeats elements of x […]; JAX adds counts in their own dtype, of which the sum may be beyond the end."""
    counts = np.asarray(repeats)
    return jnp.repeat(x, counts.astype(np.int64) if counts.dtype.kind in "iu" else counts, **along)
