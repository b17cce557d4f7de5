"""Moves results of compiled operations by one ulp, to measure how far rounding moves the results of a program.

Moved are the operations that libraries round differently, and sums. An integer stays one, so that counts and
conditions remain.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Final

import jax.numpy as jnp
import numpy as np
from jax import lax

from simstrategy.device.perturbed import LEFT_MAX
from simstrategy_xla.mesh_check.lowering import Rule, Rules

__all__ = ["ROUNDED", "nudged"]

ROUNDED: Final = frozenset(
    {
        *("dot_general", "conv_general_dilated", "reduce_sum", "cumsum", "reduce_window_sum", "psum", "psum_invariant"),
        *("exp", "exp2", "expm1", "log", "log1p", "tanh", "logistic", "div", "sqrt", "rsqrt", "cbrt", "pow"),
        *("integer_pow", "sin", "cos", "tan", "erf", "erfc", "erf_inv", "lgamma", "digamma"),
    }
)
"""The operations whose results are moved."""

_SUMS: Final = frozenset({"dot_general", "reduce_sum", "cumsum", "reduce_window_sum", "psum", "psum_invariant"})
"""Those of them that add, so that terms may cancel."""

_BETWEEN: Final = frozenset({"psum", "psum_invariant"})
"""Those of them whose terms are on several devices, where one compiled program moves all of them."""

_CONSTANTS_MAX: Final = 4096
"""Up to how many elements of an array the ways in which they move are constants of the compiled program."""

_STEP: Final = 7919
"""Between the patterns of two operations."""


@contextmanager
def nudged(rules: Rules, pattern: int, *, sums: bool = False, zeros: bool = False) -> Iterator[None]:
    """Moves results in all programs that are compiled meanwhile.

    pattern: which elements move up, and which down. sums: moves the terms of sums too, and elements that may be what
    rounding leaves of terms that cancel. zeros: moves also the elements of sums that are exactly zero.
    """
    salt, mark = pattern, rules.mark

    def around(name: str, rule: Rule) -> Rule:
        def moved(ctx: Any, *values: Any, **params: Any) -> Sequence[Any]:
            nonlocal salt
            if not all(jnp.issubdtype(aval.dtype, jnp.floating) for aval in ctx.avals_out):
                return rule(ctx, *values, **params)
            salt += _STEP
            own = salt
            move: Callable[[Any, int], Any] = _moved
            if sums and name in _SUMS and all(jnp.issubdtype(aval.dtype, jnp.floating) for aval in ctx.avals_in):
                by = partial(_raised, pattern=pattern) if name in _BETWEEN else partial(_moved, salt=own + 1)
                given = rules.add(lambda *terms: [by(one) for one in terms], ctx, values, ctx.avals_in)
                results = rule(ctx, *given, **params)
                move = partial(_moved_sums, pattern=pattern, zeros=zeros)
            else:
                results = rule(ctx, *values, **params)
            return rules.add(lambda *found: [move(one, own) for one in found], ctx, results, ctx.avals_out)

        return moved

    rules.put_around(ROUNDED, around)
    try:
        yield
    finally:
        rules.restore(mark)


def _moved(value: Any, salt: int) -> Any:
    """Returns floats […] of which about two thirds are one ulp larger or smaller."""
    factor = 1 + _signs(value, salt) * float(jnp.finfo(value.dtype).eps)  # type: ignore[no-untyped-call]
    return lax.select(lax.eq(value, lax.floor(value)), value, lax.mul(value, factor.astype(value.dtype)))


def _raised(value: Any, pattern: int) -> Any:
    """Returns floats […] one ulp above where the pattern is odd, and below where it is even, so that a sum moves."""
    step = lax.abs(value) * float(jnp.finfo(value.dtype).eps)  # type: ignore[no-untyped-call]
    moved = value + step.astype(value.dtype) * (1 if pattern % 2 else -1)
    return lax.select(lax.eq(value, lax.floor(value)), value, moved)


def _moved_sums(value: Any, salt: int, *, pattern: int, zeros: bool) -> Any:
    """Returns floats […] as `_moved` does; what may be left of terms that cancel becomes larger, or has the other sign.

    As in `simstrategy.device.perturbed`, it becomes the one where the pattern is odd, and the other where it is even.
    zeros: an element that is zero, beside others that are not, becomes one ulp of the largest, or minus that.
    """
    sizes = lax.abs(value)
    largest = jnp.max(lax.select(lax.is_finite(value), sizes, lax.full_like(sizes, 0)), initial=0)
    unit = largest * float(jnp.finfo(value.dtype).eps)  # type: ignore[no-untyped-call]
    is_left = (sizes <= LEFT_MAX * unit) if zeros else (sizes > 0) & (sizes <= LEFT_MAX * unit)
    up = (_signs(value, salt - pattern) < 0) == bool(pattern % 2)
    step = (sizes + unit).astype(value.dtype) * (2 * up - 1).astype(value.dtype)
    return lax.select(is_left, value + step, _moved(value, salt))


def _signs(value: Any, salt: int) -> Any:
    """Returns -1, 0 or 1 for each element of floats […], in their dtype.

    They are constants of the compiled program, which is compiled sooner so; of a large array they are computed there.
    """
    xp = np if value.size <= _CONSTANTS_MAX else jnp
    index = xp.full(value.shape, salt % 65521, xp.int32)
    for axis, length in enumerate(value.shape):
        place = xp.arange(length, dtype=xp.int32) * xp.int32(13)
        index = index * xp.int32(31) + place.reshape([-1 if one == axis else 1 for one in range(value.ndim)])
    drawn = xp.abs(index * xp.int32(1103515245) + xp.int32(12345)) >> xp.int32(8)
    return (xp.fmod(drawn, xp.int32(3)) - xp.int32(1)).astype(value.dtype)
