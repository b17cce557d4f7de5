"""Array functions that are the same on every backend: made of a namespace's other functions, or of numbers on the host.

A backend takes those that it has no better way for as methods: `arange = composed.arange`. The first parameter is the
namespace. Nothing here has state, and nothing depends on a backend.
"""

from collections.abc import Callable
from typing import Final

import numpy as np

from simstrategy.device.functions.creation import Shape
from simstrategy.device.namespace import ArrayNamespace, canonical_dtype, default_dtype
from simstrategy.device.terms import Array, Number, Operand, Real
from simstrategy.errors import InvalidArgument, SimStrategyError

__all__ = ["arange", "clip", "diff", "linspace", "ones", "ones_like", "reciprocal", "zeros", "zeros_like"]

_arange: Final[Callable[..., np.ndarray]] = np.arange  # its overloads take no union of types
_INTEGERS: Final = [f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)]
_BOUNDS: Final = {name: np.iinfo(name) for name in _INTEGERS}
"""The range of each dtype of integers.  A dtype that is none of ours is for `asarray` to refuse."""


def arange(
    xp: ArrayNamespace, start: Real, /, stop: Real | None = None, step: Real = 1, *, dtype: str | None = None
) -> Array:
    """Counts on the host and rounds once: frameworks that add the step up in the result's dtype drift."""
    plain = _arange(start, step=step) if stop is None else _arange(start, stop, step)
    return _placed(xp, "arange", plain, dtype)


def linspace(
    xp: ArrayNamespace, start: Number, stop: Number, /, num: int, *, dtype: str | None = None, endpoint: bool = True
) -> Array:
    """Computes in float64 on the host and rounds once."""
    return _placed(xp, "linspace", np.linspace(start, stop, num, endpoint=endpoint), dtype)


def _placed(xp: ArrayNamespace, name: str, plain: np.ndarray, dtype: str | None) -> Array:
    """Returns host numbers [n] as an array, by default of the default dtype of their kind, or int64 for larger ones.

    Raises InvalidArgument for a number that the dtype does not hold, OverflowError for integers beyond 64 bits.
    """
    if plain.dtype.kind == "O":
        raise OverflowError("integers of more than 64 bits")
    least, most = (plain.min(), plain.max()) if plain.size and plain.dtype.kind in "iuf" else (0, 0)
    wanted = dtype or default_dtype(plain.dtype.kind)
    bounds = None if wanted is None else _BOUNDS.get(canonical_dtype(wanted))
    if bounds is not None and not bounds.min <= least <= most <= bounds.max:
        if dtype is None:
            return xp.asarray(plain, dtype="int64")
        raise InvalidArgument(
            f"xp.{name} got numbers from {least} to {most}, and {wanted} has those from {bounds.min} to {bounds.max}. "
            f"Choose a dtype that has them."
        )
    return xp.asarray(plain, dtype=wanted)


def zeros(xp: ArrayNamespace, shape: Shape, *, dtype: str | None = None) -> Array:
    """Returns zeros, float32 by default."""
    return _filled(xp, shape, 0, dtype)


def ones(xp: ArrayNamespace, shape: Shape, *, dtype: str | None = None) -> Array:
    """Returns ones, float32 by default."""
    return _filled(xp, shape, 1, dtype)


def _filled(xp: ArrayNamespace, shape: Shape, number: int, dtype: str | None) -> Array:
    """Returns `xp.full`, whose errors name the caller's function: its own are raised in place of those of `full`."""
    try:
        return xp.full(shape, number, dtype="float32" if dtype is None else dtype)
    except SimStrategyError as error:
        raise error.__cause__ or error from None


def zeros_like(xp: ArrayNamespace, x: Array, /, *, dtype: str | None = None) -> Array:
    """Returns zeros of the shape of x […]."""
    return xp.full_like(x, 0, dtype=dtype)


def ones_like(xp: ArrayNamespace, x: Array, /, *, dtype: str | None = None) -> Array:
    """Returns ones of the shape of x […]."""
    return xp.full_like(x, 1, dtype=dtype)


def reciprocal(xp: ArrayNamespace, x: Array, /) -> Array:
    """Divides 1 by x […]: the reciprocals of frameworks may be approximate."""
    return xp.divide(1.0, x)


def clip(xp: ArrayNamespace, x: Array, /, min: Operand | None = None, max: Operand | None = None) -> Array:  # noqa: A002
    """Takes the larger of x […] and min, then the smaller of that and max."""
    raised = x if min is None else xp.maximum(x, min)
    if max is not None:
        return xp.minimum(raised, max)
    return xp.positive(x) if min is None else raised


def diff(
    xp: ArrayNamespace,
    x: Array,
    /,
    *,
    axis: int = -1,
    n: int = 1,
    prepend: Array | None = None,
    append: Array | None = None,
) -> Array:
    """Subtracts neighbours along an axis of x […], n times.

    prepend, append: […], joined to x first. Raises InvalidArgument for an axis that x does not have, and for n < 0.
    """
    parts = [xp.asarray(one) for one in (prepend, x, append) if one is not None]
    result = parts[0] if len(parts) == 1 else xp.concat(parts, axis=axis)
    dimensions = len(result.shape)
    if n < 0 or not -dimensions <= axis < dimensions:
        raise InvalidArgument(
            f"xp.diff got n={n} and axis={axis} for shape {list(result.shape)}: n is 0 or more, and the axis one of x."
        )
    before = (slice(None),) * (axis % dimensions)
    for _ in range(min(n, result.shape[axis])):  # nothing is left after so many
        result = xp.subtract(result[(*before, slice(1, None))], result[(*before, slice(None, -1))])
    return result if n else xp.positive(result)
