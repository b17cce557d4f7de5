"""A framework's own words in a strategy, for an engine: its variables, its datasets, the functions that it compiles.

What they are the backend's frontend says; where there is none, everything is what it was.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, NamedTuple

from simstrategy.device import Frontend
from simstrategy.strategy.enums import VariableAggregation, VariableSynchronization
from simstrategy.strategy.variables.variable import Variable

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

    def around(self, devices: Iterable[AbstractContextManager[None]]) -> list[AbstractContextManager[None]]:
        """Returns what enters each device and then, where there is a framework, its scope."""
        return list(devices) if self.frontend is None else [_both(device, self.scope) for device in devices]

    def compiled(self, function: Any, run: Callable[..., Any]) -> Callable[..., Any] | None:
        """Returns what compiles a run of `function`, where that is a compiled one; see `Frontend.compiled`."""
        return None if self.frontend is None else self.frontend.compiled(function, run)


@contextmanager
def _both(
    device: AbstractContextManager[None], make_scope: Callable[[], AbstractContextManager[None]]
) -> Iterator[None]:
    with device, make_scope():  # made only where the device has been entered
        yield


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
