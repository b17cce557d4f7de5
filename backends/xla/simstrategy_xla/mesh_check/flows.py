"""Follows through a function on what its values depend.  Only its form is read, its jaxpr; nothing is run."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Final, final

from jax.extend.core import ClosedJaxpr, Literal

__all__ = ["Flow", "Flows", "computed", "together"]

Flow = Mapping[Hashable, bool]
"""On what a value depends, and whether it is computed with each of these, beyond adding it."""

OfOperation = Callable[[Any, Sequence[Flow]], Sequence[Flow] | None]
"""Returns the flows of an equation's results, of those of its operands; None to follow its body."""

Noted = Callable[[Any, Sequence[Flow]], None]

_BODIES: Final = ("jaxpr", "call_jaxpr", "fun_jaxpr")


@final
class Flows:
    """Follows functions.

    of_operation: what an operation makes of flows. noted: receives each operation whose body was followed, with the
    flows of its results; in a loop once for each time that the body is followed.
    """

    def __init__(self, of_operation: OfOperation, noted: Noted | None = None) -> None:
        self._of_operation = of_operation
        self._noted = noted

    def of(self, jaxpr: Any, given: Sequence[Flow]) -> list[Flow]:
        """Returns on what each result of a jaxpr depends.  given: on what its arguments do."""
        known: dict[Any, Flow] = dict(zip(jaxpr.invars, given, strict=True))

        def read(variables: Sequence[Any]) -> list[Flow]:
            return [{} if isinstance(one, Literal) else known.get(one, {}) for one in variables]

        for equation in jaxpr.eqns:
            known.update(zip(equation.outvars, self._of_equation(equation, read(equation.invars)), strict=True))
        return read(jaxpr.outvars)

    def _of_equation(self, equation: Any, given: Sequence[Flow]) -> Sequence[Flow]:
        name, count = equation.primitive.name, len(equation.outvars)
        made = self._of_operation(equation, given)
        if made is not None:
            return made
        follow = {"scan": self._of_scan, "while": self._of_while, "cond": self._of_cond}.get(name, self._of_call)
        inner = follow(equation.params, given)
        results = inner if inner is not None and len(inner) == count else [computed(together(given))] * count
        if self._noted is not None:
            self._noted(equation, results)
        return results

    def _of_call(self, params: Mapping[str, Any], given: Sequence[Flow]) -> list[Flow] | None:
        """Returns the flows of a function that is called; None for an operation without one."""
        bodies = [params[name] for name in _BODIES if name in params]
        body = _open(bodies[0]) if bodies else None
        return None if body is None or len(body.invars) != len(given) else self.of(body, given)

    def _of_scan(self, params: Mapping[str, Any], given: Sequence[Flow]) -> list[Flow]:
        first, last = params["num_consts"], params["num_consts"] + params["num_carry"]
        return self._repeated(_open(params["jaxpr"]), given[:first], given[first:last], given[last:])

    def _of_while(self, params: Mapping[str, Any], given: Sequence[Flow]) -> list[Flow]:
        first = params["cond_nconsts"]
        last = first + params["body_nconsts"]
        carried = self._repeated(_open(params["body_jaxpr"]), given[first:last], given[last:], ())
        ends = computed(together(self.of(_open(params["cond_jaxpr"]), [*given[:first], *carried])))
        return [together([one, ends]) for one in carried]

    def _of_cond(self, params: Mapping[str, Any], given: Sequence[Flow]) -> list[Flow]:
        branches = [self.of(_open(branch), given[1:]) for branch in params["branches"]]
        return [together([computed(given[0]), *ways]) for ways in zip(*branches, strict=True)]

    def _repeated(
        self, body: Any, constants: Sequence[Flow], carried: Sequence[Flow], rows: Sequence[Flow]
    ) -> list[Flow]:
        """Returns the flows of a loop: what one turn leaves enters the next one, until nothing is added."""
        while True:
            results = self.of(body, [*constants, *carried, *rows])
            after = [together(pair) for pair in zip(carried, results, strict=False)]
            if after == list(carried):
                return [*after, *results[len(after) :]]
            carried = after


def _open(jaxpr: Any) -> Any:
    """Returns a jaxpr without its constants."""
    return jaxpr.jaxpr if isinstance(jaxpr, ClosedJaxpr) else jaxpr


def together(flows: Sequence[Flow]) -> Flow:
    """Returns on what a value depends that depends on several."""
    found: dict[Hashable, bool] = {}
    for flow in flows:
        for place, is_computed in flow.items():
            found[place] = found.get(place, False) or is_computed
    return found


def computed(flow: Flow) -> Flow:
    """Returns the flow of what is computed with a value, beyond adding it."""
    return dict.fromkeys(flow, True)
