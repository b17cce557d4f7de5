"""A framework's own words in a strategy, for an engine: its variables, its datasets, the functions that it compiles.

What they are the backend's frontend says; where there is none, everything is what it was.
"""

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple, final

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

    def around(self, device: AbstractContextManager[None]) -> AbstractContextManager[None]:
        """Returns what enters a device and then, where there is a framework, its scope."""
        return device if self.frontend is None else _Both(device, self.scope)

    def compiled(self, function: Any, run: Callable[..., Any]) -> Callable[..., Any] | None:
        """Returns what compiles a run of `function`, where that is a compiled one; see `Frontend.compiled`."""
        return None if self.frontend is None else self.frontend.compiled(function, run)


@final
class _Both:
    """A context manager of two, the second made only where the first is entered."""

    __slots__ = ("_first", "_make_second", "_second")

    def __init__(
        self, first: AbstractContextManager[None], make_second: Callable[[], AbstractContextManager[None]]
    ) -> None:
        self._first = first
        self._make_second = make_second

    def __enter__(self) -> None:
        self._first.__enter__()
        try:
            self._second = self._make_second()
            self._second.__enter__()
        except BaseException:
            self._first.__exit__(*sys.exc_info())
            raise

    def __exit__(self, *error: Any) -> None:
        try:
            self._second.__exit__(*error)
        finally:
            self._first.__exit__(*error)


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
