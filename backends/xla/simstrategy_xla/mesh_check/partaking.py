"""Finds which arguments of a function take part in what it computes, and which are only added up.

A running mean, a sum and a count enter nothing but their own next value, times constants: a device may keep one for
itself, and all else is as it is without it. Parameters change by what is computed with them. Only the form of a
function is read, its jaxpr; nothing is run. What a collective returns counts as independent: it combines what devices
have of their own.
"""

from collections.abc import Sequence
from typing import Any, Final

import jax.numpy as jnp

from simstrategy_xla.mesh_check.flows import Flow, Flows, computed, together
from simstrategy_xla.mesh_check.noting import COLLECTIVES

__all__ = ["added_up"]

_ADDING: Final = frozenset(
    {
        *("add", "add_any", "sub", "neg", "max", "min", "reduce_sum", "reduce_max", "reduce_min", "cumsum"),
        *("convert_element_type", "reduce_precision", "copy", "copy_p", "reshape", "broadcast_in_dim", "squeeze"),
        *("expand_dims", "transpose", "rev", "slice", "concatenate", "pad", "split", "optimization_barrier"),
        *("pvary", "pcast", "sharding_constraint", "mesh_cast", "stop_gradient"),
    }
)
"""Operations whose result is made of elements of their operands, each times a constant."""
_SCALING: Final = frozenset({"mul", "div", "dot_general", "conv_general_dilated"})
"""Operations of two operands, each a factor of the other one."""
_CHOOSING: Final = frozenset({"select_n", "gather", "dynamic_slice", "dynamic_update_slice", "scatter", "scatter-add"})
"""Operations whose operands that are no floats choose elements of those that are."""


def added_up(jaxpr: Any) -> tuple[frozenset[int] | None, ...]:
    """Returns for each argument of a jaxpr the results that it enters, where it is only added up in them; else None.

    >>> import jax, jax.numpy as jnp
    >>> def step(weights, mean, rows):
    ...     return weights - rows @ weights, 0.9 * mean + rows.sum(0), jnp.tanh(rows).mean()
    >>> added_up(jax.make_jaxpr(step)(jnp.ones(3), jnp.ones(3), jnp.ones((3, 3))).jaxpr)
    (None, frozenset({1}), None)
    """
    results = Flows(_of_operation).of(jaxpr, [{place: False} for place in range(len(jaxpr.invars))])
    found: list[frozenset[int] | None] = []
    for place in range(len(jaxpr.invars)):
        entered = {number: flow[place] for number, flow in enumerate(results) if place in flow}
        found.append(None if any(entered.values()) else frozenset(entered))
    return tuple(found)


def _of_operation(equation: Any, given: Sequence[Flow]) -> Sequence[Flow] | None:
    name, count = equation.primitive.name, len(equation.outvars)
    if name in COLLECTIVES:
        return [{}] * count
    if name in _ADDING:
        return [together(given)] * count
    if name in _SCALING:
        scaled = [computed(one) if other else one for one, other in zip(given, given[::-1], strict=True)]
        return [together(scaled)] * count
    if name in _CHOOSING:
        floats = [jnp.issubdtype(one.aval.dtype, jnp.inexact) for one in equation.invars]
        chosen = [one if value else computed(one) for one, value in zip(given, floats, strict=True)]
        return [together(chosen)] * count
    return None
