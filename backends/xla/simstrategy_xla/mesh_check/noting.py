"""Notes what the compiled programs of a run are made of: their collectives, draws, and the dtypes they compute with.

Nothing is added to the programs, and no value is read.
"""

from collections.abc import Sequence
from typing import Any, Final, final

import jax

from simstrategy.trace import Event, describe_site
from simstrategy_xla.mesh_check.edges import devices_of
from simstrategy_xla.mesh_check.lowering import Rule, Rules, place_of, running_line
from simstrategy_xla.mesh_check.nudging import ROUNDED

__all__ = ["COLLECTIVES", "Noted", "meaning_of"]

COLLECTIVES: Final[dict[str, tuple[str, str | None]]] = {
    "psum": ("all_reduce", "SUM"),
    "psum_invariant": ("all_reduce", "SUM"),
    "pmax": ("all_reduce", "MAX"),
    "pmin": ("all_reduce", "MIN"),
    "all_gather": ("all_gather", None),
    "all_gather_invariant": ("all_gather", None),
    "all_gather_reduced": ("all_gather", None),
    "reduce_scatter": ("reduce_scatter", "SUM"),
    "unreduced_psum": ("all_reduce", "SUM"),
    "unreduced_reduce_scatter": ("reduce_scatter", "SUM"),
    "all_to_all": ("all_to_all", None),
    "ragged_all_to_all": ("all_to_all", None),
    "ppermute": ("permute", None),
}
"""JAX's names of collectives, each with the kind and the operation of a recorded point."""

_MEAN: Final = "pmean"
_DRAWS: Final = ("random_bits", "rng_bit_generator")


def meaning_of(name: str, through: frozenset[str]) -> tuple[str, str | None]:
    """Returns kind and operation of a collective.  through: JAX's functions that called it."""
    return ("all_reduce", "MEAN") if _MEAN in through else COLLECTIVES[name]


def _called_at() -> str:
    """Returns where a compiled function is called, for an operation of a library whose traceback ends there."""
    return f"in a function that {running_line() or 'the program'} calls"


@final
class Noted:
    """What was noted since the last `clear`.  Each program is noted when it is compiled."""

    def __init__(self, rules: Rules) -> None:
        self.events: list[Event] = []
        """The collectives, in the order of the programs, and a line for each function that was compiled."""
        self.dtypes: dict[str, None] = {}
        rules.put_around(ROUNDED - COLLECTIVES.keys(), self._of_dtype, cached=True)
        self.draws: dict[str, None] = {}
        """The lines at which each of several devices draws random numbers."""
        rules.put_around(COLLECTIVES, self._of_collective)
        rules.put_around(_DRAWS, self._of_draw)
        jax.monitoring.register_event_duration_secs_listener(self._compiled)

    def clear(self) -> None:
        self.events.clear()
        self.dtypes.clear()
        self.draws.clear()

    def _of_dtype(self, name: str, rule: Rule) -> Rule:
        def noted(ctx: Any, *values: Any, **params: Any) -> Sequence[Any]:
            self.dtypes |= {str(aval.dtype): None for aval in ctx.avals_out}
            return rule(ctx, *values, **params)

        return noted

    def _of_collective(self, name: str, rule: Rule) -> Rule:
        def noted(ctx: Any, *values: Any, **params: Any) -> Sequence[Any]:
            place = place_of(ctx.traceback)
            kind, op = meaning_of(name, frozenset() if place is None else place.through)
            shapes, dtypes = [], []
            for aval in ctx.avals_in:
                shapes.append(tuple(aval.shape))
                dtypes.append(str(aval.dtype))
            self.dtypes |= dict.fromkeys(dtypes)
            text = "" if place is None else describe_site((place.file, place.line))
            self.events.append(Event(0, None, kind, op, None, None, tuple(shapes), tuple(dtypes), text))
            return rule(ctx, *values, **params)

        return noted

    def _of_draw(self, name: str, rule: Rule) -> Rule:
        def noted(ctx: Any, *values: Any, **params: Any) -> Sequence[Any]:
            place = place_of(ctx.traceback)
            if devices_of(ctx) > 1:
                self.draws[_called_at() if place is None else f"at {describe_site((place.file, place.line))}"] = None
            return rule(ctx, *values, **params)

        return noted

    def _compiled(self, event: str, duration_secs: float, **kwargs: str | int) -> None:
        if event.endswith("jaxpr_to_mlir_module_duration"):
            name = str(kwargs.get("fun_name", ""))
            self.events.append(Event(0, None, "compile", None, None, name, (), (), ""))
