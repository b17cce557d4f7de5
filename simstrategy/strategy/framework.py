"""A framework's own words in a strategy, for an engine: its variables, its datasets, the functions that it compiles.

What they are the backend's frontend says; where there is none, everything is what it was.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

from simstrategy.device import Frontend
from simstrategy.strategy.enums import VariableAggregation, VariableSynchronization
from simstrategy.strategy.variables import Variable

__all__ = ["Framework"]


class Framework(NamedTuple):
    """What an engine asks of a frontend.  Clauses: F-1, F-2."""

    frontend: Frontend | None
    scope: Callable[[], AbstractContextManager[None]]
    """Enters a scope in which the framework's own variables are this strategy's."""
    own: Callable[[Any], Any]
    """Returns the variable that one of the framework's stands for; anything else as it is."""

    @classmethod
    def of(cls, frontend: Frontend | None) -> "Framework":
        """Returns what there is to ask: of one strategy, for a frontend may keep what it makes."""
        if frontend is None:
            return cls(None, nullcontext, _same)
        return cls(frontend, frontend.attach(_make), frontend.variable)

    def compiled(self, function: Any, run: Callable[..., Any]) -> Callable[..., Any] | None:
        """Returns what compiles a run of `function`, where that is a compiled one; see `Frontend.compiled`."""
        return None if self.frontend is None else self.frontend.compiled(function, run)


def _make(initial_value: Any, *, synchronization: str, aggregation: str, **settings: Any) -> Variable:
    """Makes a variable where the framework was asked for one: the current strategy's."""
    return Variable(
        initial_value,
        synchronization=VariableSynchronization[synchronization],
        aggregation=VariableAggregation[aggregation],
        **settings,
    )


def _same(value: Any) -> Any:
    return value
