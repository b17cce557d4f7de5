"""The optional parts of a backend for programs that use the framework's variables, datasets, functions and values.

A backend without them has `frontend = None` and `composites = None`.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from simstrategy.device.terms import Array

__all__ = ["Composites", "Frontend", "MakeVariable"]

MakeVariable = Callable[..., Any]
"""Makes a variable of the strategy, as `simstrategy.Variable` does, from names of synchronization and aggregation."""


class Frontend(Protocol):
    """The framework's variables, compiled functions, datasets and loops in a strategy: `Backend.frontend`."""

    def attach(self, make: MakeVariable) -> Callable[[], AbstractContextManager[None]]:
        """Returns a function that enters a scope: inside, in that thread, `make` makes the framework's variables.

        Called once for each strategy; the scope is entered by `Strategy.scope` and by every replica.
        """
        ...

    def variable(self, value: Any) -> Any:
        """Returns the variable that `make` made for this variable of the framework; any other value unchanged."""
        ...

    def compiled(self, function: Callable[..., Any], run: Callable[..., Any]) -> Callable[..., Any] | None:
        """Returns, for a function that the framework compiles, one that compiles `run(inner, args, kwargs)` instead.

        It takes `(args, kwargs)`. None where the function is an ordinary one.
        """
        ...

    def obstacle(self) -> Callable[[], str | None]:
        """Returns a function that a replica calls, in its thread, before it waits for the other local replicas.

        Called when the replica starts. The function returns a message where the framework holds what another replica
        needs to arrive at the same call, such as the lock of a function that is being traced: none would ever end.
        """
        ...

    def source(self, dataset: Any) -> Any:
        """Returns the framework's dataset as a `simstrategy.data.Source`; any other value unchanged."""
        ...

    def dataset(self, dataset: Any) -> Any:
        """Returns a distributed dataset, or an iterator over one, in a form that the framework's loops accept."""
        ...

    def count(self, array: Array, axes: tuple[int, ...]) -> Array:
        """Returns the number of elements along axes, an integer array []: for sizes not known before a graph runs."""
        ...


class Composites(Protocol):
    """The framework's values that are made of several arrays: `Backend.composites`."""

    @property
    def types(self) -> tuple[type, ...]:
        """The types of such values, for `isinstance`."""
        ...

    def parts(self, value: Any, call: str) -> tuple[Array, ...]:
        """Returns the arrays that a sum of such values concatenates along axis 0; MEAN divides the first.

        call: for messages. Raises Unsupported for a value of a kind that has no sum.
        """
        ...

    def joined(self, value: Any, parts: Sequence[Array]) -> Any:
        """Returns a value like `value` made of other parts, arrays […] as `parts` returns them."""
        ...

    def dense(self, value: Any) -> Array:
        """Returns the value as one array.  Raises Unsupported where one array would have another meaning."""
        ...
