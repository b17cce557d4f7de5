"""Moves results of compiled operations by one ulp, to measure how far rounding moves the results of a program.

Moved are the operations that libraries round differently, and sums. An integer stays one, so that counts and
conditions remain.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Final

import jax
import jax.numpy as jnp
from jax.interpreters import mlir

from simstrategy_xla.mesh_check.host_calls import choose, chosen, on_host, raise_problem
from simstrategy_xla.mesh_check.lowering import Rule, Rules
from simstrategy_xla.mesh_check.moving import Move

__all__ = ["ROUNDED", "nudged"]

ROUNDED: Final = frozenset(
    {
        *("dot_general", "conv_general_dilated", "reduce_sum", "cumsum", "reduce_window_sum", "psum", "psum_invariant"),
        *("exp", "exp2", "expm1", "log", "log1p", "tanh", "logistic", "div", "sqrt", "rsqrt", "cbrt", "pow"),
        *("reduce", "integer_pow", "sin", "cos", "tan", "erf", "erfc", "erf_inv", "lgamma", "digamma"),
    }
)
"""The operations whose results are moved."""

_SUMS: Final = frozenset({"dot_general", "reduce_sum", "cumsum", "reduce_window_sum", "psum", "psum_invariant"})
"""Those of them that add, so that terms may cancel."""

_BETWEEN: Final = frozenset({"psum", "psum_invariant"})
"""Those of them whose terms are on several devices, where one compiled program moves all of them."""

_ON_HOST_MAX: Final = 4096
"""Up to how many elements an array of a sum moves on the host: that needs no compiling."""

_ON_HOST: Final = ("float16", "bfloat16", "float32", "float64")

_STEP: Final = 7919
"""Between the patterns of two operations."""


@contextmanager
def nudged(rules: Rules, pattern: int, *, sums: bool = False, zeros: bool = False) -> Iterator[None]:
    """Moves results in all programs that are compiled meanwhile.  Such a program serves any pattern.

    pattern: which elements move up, and which down. sums: moves the terms of sums too, and elements that may be what
    rounding leaves of terms that cancel. zeros: moves also the elements of sums that are exactly zero.
    """
    salt, mark = 0, rules.mark

    def around(name: str, rule: Rule) -> Rule:
        def moved(ctx: Any, *values: Any, **params: Any) -> Sequence[Any]:
            nonlocal salt
            if rules.is_apart or not all(jnp.issubdtype(aval.dtype, jnp.floating) for aval in ctx.avals_out):
                return rule(ctx, *values, **params)
            salt += _STEP
            adds = sums and name in _SUMS and all(jnp.issubdtype(aval.dtype, jnp.floating) for aval in ctx.avals_in)
            add = partial(_add, rules, ctx, by_host=sums and _has_own_arrays(ctx))
            given = add(Move(salt + 1, together=name in _BETWEEN), values, ctx.avals_in) if adds else values
            results = rule(ctx, *given, **params)
            return add(Move(salt, sums=adds, zeros=adds and zeros), results, ctx.avals_out)

        return moved

    choose(pattern)
    rules.keep_apart()
    rules.put_around(ROUNDED, around)
    try:
        yield
    finally:
        rules.restore(mark)
    raise_problem()


def _add(
    rules: Rules, ctx: Any, move: Move, values: Sequence[Any], avals: Sequence[Any], *, by_host: bool
) -> Sequence[Any]:
    def moved(*given: Any) -> list[Any]:
        return [
            on_host(move, one)
            if by_host and 0 < one.size <= _ON_HOST_MAX and one.dtype.name in _ON_HOST
            else move.of(one, chosen())
            for one in given
        ]

    return rules.add(moved, ctx, values, avals)


def _has_own_arrays(ctx: Any) -> bool:
    """Returns whether each device runs the code with arrays of its own.  Else the host would need all their parts."""
    return jax.device_count() == 1 or isinstance(ctx.module_context.axis_context, mlir.SPMDAxisContext)
