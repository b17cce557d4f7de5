"""Moves results of compiled operations by one ulp, to measure how far rounding moves the results of a program.

Moved are the operations that libraries round differently, and sums. An integer stays one, so that counts and
conditions remain.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Final

import jax.numpy as jnp
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

_STEP: Final = 7919
"""Between the patterns of two operations."""


@contextmanager
def nudged(rules: Rules, pattern: int, *, sums: bool = False) -> Iterator[None]:
    """Moves results in all programs that are compiled meanwhile.

    pattern: which elements move up, and which down. sums: moves the terms of sums too, and elements that may be what
    rounding leaves of terms that cancel.
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
                given = rules.add(lambda *terms: [_moved(one, own + 1) for one in terms], ctx, values, ctx.avals_in)
                results = rule(ctx, *given, **params)
                move = partial(_moved_sums, pattern=pattern)
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
    return lax.select(value == lax.floor(value), value, value * factor.astype(value.dtype))


def _moved_sums(value: Any, salt: int, *, pattern: int) -> Any:
    """Returns floats […] as `_moved` does; what may be left of terms that cancel becomes larger, or has the other sign.

    As in `simstrategy.device.perturbed`, it becomes the one where the pattern is odd, and the other where it is even.
    """
    sizes = lax.abs(value)
    largest = jnp.max(jnp.where(jnp.isfinite(value), sizes, 0), initial=0)
    unit = largest * float(jnp.finfo(value.dtype).eps)  # type: ignore[no-untyped-call]
    is_left = (sizes > 0) & (sizes <= LEFT_MAX * unit)
    up = (_signs(value, salt - pattern) < 0) == bool(pattern % 2)
    step = (sizes + unit).astype(value.dtype)
    return jnp.where(is_left, jnp.where(up, value + step, value - step), _moved(value, salt))


def _signs(value: Any, salt: int) -> Any:
    """Returns -1, 0 or 1 for each element of floats […], in their dtype."""
    index = jnp.full(value.shape, salt % 65521, jnp.int32)
    for axis in range(value.ndim):
        index = index * 31 + lax.broadcasted_iota(jnp.int32, value.shape, axis) * 13
    return (lax.rem(lax.abs(index * 1103515245 + 12345) >> 8, jnp.int32(3)) - 1).astype(value.dtype)
