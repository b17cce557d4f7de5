"""Finds which results of a function are computed from each of its collectives, and where random numbers enter.

An operation is known by its name and its traceback, as where JAX turns it into code. Several operations of one name and
one traceback count as one: a result is computed from it where it is computed from any of them.
"""

from collections.abc import Hashable, Iterator, Sequence
from typing import Any, Final, NamedTuple, final

from jax.extend.core import ClosedJaxpr, Jaxpr

from simstrategy_xla.mesh_check.flows import Flow, Flows, computed, together
from simstrategy_xla.mesh_check.noting import COLLECTIVES

__all__ = ["Operation", "Reached", "reached_in"]

_DRAWN: Final = "drawn"
_RANDOM: Final = frozenset({"threefry2x32", "rng_bit_generator", "rng_uniform"})
"""Operations that make random numbers, beside those whose name begins with ``random_``."""
_FOLLOWED: Final = frozenset(
    {
        *("scan", "while", "cond", "jit", "pjit", "closed_call", "core_call", "custom_lin", "shard_map"),
        *("checkpoint", "remat", "remat2", "custom_jvp_call", "custom_vjp_call", "custom_vjp_call_jaxpr", "run_state"),
    }
)
"""Operations whose bodies are followed; what another one's body holds enters all of its results."""

Operation = tuple[str, Any]
"""The name of an operation, and its traceback."""


class Reached(NamedTuple):
    """results: the numbers of the results that are computed from a collective. drawn: what random numbers enter.

    known: all operations that were followed.
    """

    results: dict[Operation, frozenset[int]]
    drawn: frozenset[Operation]
    known: frozenset[Operation]

    def is_drawn(self, operation: Operation) -> bool | None:
        """Returns whether random numbers enter an operation's results; None where it is not known."""
        return operation in self.drawn if operation in self.known else None


def reached_in(jaxpr: Any) -> Reached:
    """Follows all values of a jaxpr."""
    follower = _Follower()
    results = Flows(follower.of_operation, follower.note).of(jaxpr, [{}] * len(jaxpr.invars))
    collectives = {one for one in follower.known if one[0] in COLLECTIVES}
    into = {one: frozenset(number for number, flow in enumerate(results) if one in flow) for one in collectives}
    return Reached(into, frozenset(follower.drawn), frozenset(follower.known))


@final
class _Follower:
    def __init__(self) -> None:
        self.known: set[Operation] = set()
        self.drawn: set[Operation] = set()

    def of_operation(self, equation: Any, given: Sequence[Flow]) -> Sequence[Flow] | None:
        name = equation.primitive.name
        inner = list(_operations_in(equation.params.values()))
        if inner and name in _FOLLOWED:
            return None
        flow = {**computed(together(given)), **_begun(_of(equation))}
        for one in inner:
            flow.update(_begun(one))
        operations = (_of(equation), *inner)
        self.known.update(operations)
        if _DRAWN in flow:
            self.drawn.update(operations)
        return [flow] * len(equation.outvars)

    def note(self, equation: Any, flows: Sequence[Flow]) -> None:
        """Notes an operation whose body was followed: random numbers enter it where they enter a result."""
        self.known.add(_of(equation))
        if any(_DRAWN in flow for flow in flows):
            self.drawn.add(_of(equation))


def _begun(operation: Operation) -> Flow:
    """Returns the flow that begins at an operation."""
    name = operation[0]
    random: dict[Hashable, bool] = {_DRAWN: True} if name in _RANDOM or name.startswith("random_") else {}
    return {**random, operation: True} if name in COLLECTIVES else random


def _of(equation: Any) -> Operation:
    return equation.primitive.name, equation.source_info.traceback


def _operations_in(params: Any) -> Iterator[Operation]:
    """Yields all operations of the functions among the parameters of an operation."""
    for param in params:
        if isinstance(param, tuple | list):
            yield from _operations_in(param)
            continue
        for equation in _equations(param):
            yield _of(equation)
            yield from _operations_in(equation.params.values())


def _equations(param: Any) -> Sequence[Any]:
    """Returns the equations of a jaxpr, with constants or without; () of another parameter."""
    body: Any = param.jaxpr if isinstance(param, ClosedJaxpr) else param
    return list(body.eqns) if isinstance(body, Jaxpr) else ()
