"""Finds which arguments of a function take part in what it computes, and which are only added up.

A running mean, a sum and a count enter nothing but their own next value, times constants: a device may keep one for
itself, and all else is as it is without it. Parameters change by what is computed with them. Only the form of a
function is read, its jaxpr; nothing is run. What a collective returns counts as independent: it combines what devices
have of their own.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr, Literal

from simstrategy_xla.mesh_check.noting import COLLECTIVES

__all__ = ["added_up"]

Flow = Mapping[int, bool]
"""The arguments on which a value depends, and whether it is computed with each of them, beyond adding it."""

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
_BODIES: Final = ("jaxpr", "call_jaxpr", "fun_jaxpr")


def added_up(jaxpr: Any) -> tuple[frozenset[int] | None, ...]:
    """Returns for each argument of a jaxpr the results that it enters, where it is only added up in them; else None.

    >>> import jax, jax.numpy as jnp
    >>> def step(weights, mean, rows):
    ...     return weights - rows @ weights, 0.9 * mean + rows.sum(0), jnp.tanh(rows).mean()
    >>> added_up(jax.make_jaxpr(step)(jnp.ones(3), jnp.ones(3), jnp.ones((3, 3))).jaxpr)
    (None, frozenset({1}), None)
    """
    results = _flows(jaxpr, [{place: False} for place in range(len(jaxpr.invars))])
    found: list[frozenset[int] | None] = []
    for place in range(len(jaxpr.invars)):
        entered = {number: flow[place] for number, flow in enumerate(results) if place in flow}
        found.append(None if any(entered.values()) else frozenset(entered))
    return tuple(found)


def _flows(jaxpr: Any, given: Sequence[Flow]) -> list[Flow]:
    """Returns on what each result of a jaxpr depends.  given: on what its arguments do."""
    known: dict[Any, Flow] = dict(zip(jaxpr.invars, given, strict=True))

    def read(variables: Sequence[Any]) -> list[Flow]:
        return [{} if isinstance(one, Literal) else known.get(one, {}) for one in variables]

    for equation in jaxpr.eqns:
        known.update(zip(equation.outvars, _of_equation(equation, read(equation.invars)), strict=True))
    return read(jaxpr.outvars)


def _of_equation(equation: Any, given: Sequence[Flow]) -> Sequence[Flow]:
    name, count = equation.primitive.name, len(equation.outvars)
    if name in COLLECTIVES:
        return [{}] * count
    if name in _ADDING:
        return [_together(given)] * count
    if name in _SCALING:
        scaled = [_computed(one) if other else one for one, other in zip(given, given[::-1], strict=True)]
        return [_together(scaled)] * count
    if name in _CHOOSING:
        floats = [jnp.issubdtype(one.aval.dtype, jnp.inexact) for one in equation.invars]
        chosen = [one if value else _computed(one) for one, value in zip(given, floats, strict=True)]
        return [_together(chosen)] * count
    inner = {"scan": _of_scan, "while": _of_while, "cond": _of_cond}.get(name, _of_call)(equation.params, given)
    return inner if inner is not None and len(inner) == count else [_computed(_together(given))] * count


def _of_call(params: Mapping[str, Any], given: Sequence[Flow]) -> list[Flow] | None:
    """Returns the flows of a function that is called; None for an operation without one."""
    bodies = [params[name] for name in _BODIES if name in params]
    body = _open(bodies[0]) if bodies else None
    return None if body is None or len(body.invars) != len(given) else _flows(body, given)


def _of_scan(params: Mapping[str, Any], given: Sequence[Flow]) -> list[Flow]:
    first, last = params["num_consts"], params["num_consts"] + params["num_carry"]
    return _repeated(_open(params["jaxpr"]), given[:first], given[first:last], given[last:])


def _of_while(params: Mapping[str, Any], given: Sequence[Flow]) -> list[Flow]:
    first = params["cond_nconsts"]
    last = first + params["body_nconsts"]
    carried = _repeated(_open(params["body_jaxpr"]), given[first:last], given[last:], ())
    ends = _computed(_together(_flows(_open(params["cond_jaxpr"]), [*given[:first], *carried])))
    return [_together([one, ends]) for one in carried]


def _of_cond(params: Mapping[str, Any], given: Sequence[Flow]) -> list[Flow]:
    branches = [_flows(_open(branch), given[1:]) for branch in params["branches"]]
    return [_together([_computed(given[0]), *ways]) for ways in zip(*branches, strict=True)]


def _repeated(body: Any, constants: Sequence[Flow], carried: Sequence[Flow], rows: Sequence[Flow]) -> list[Flow]:
    """Returns the flows of a loop: what one turn leaves enters the next one, until nothing is added."""
    while True:
        results = _flows(body, [*constants, *carried, *rows])
        after = [_together(pair) for pair in zip(carried, results, strict=False)]
        if after == list(carried):
            return [*after, *results[len(after) :]]
        carried = after


def _open(jaxpr: Any) -> Any:
    """Returns a jaxpr without its constants."""
    return jaxpr.jaxpr if isinstance(jaxpr, ClosedJaxpr) else jaxpr


def _together(flows: Sequence[Flow]) -> Flow:
    found: dict[int, bool] = {}
    for flow in flows:
        for place, computed in flow.items():
            found[place] = found.get(place, False) or computed
    return found


def _computed(flow: Flow) -> Flow:
    return dict.fromkeys(flow, True)
