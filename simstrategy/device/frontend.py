"""The optional parts of a backend that let users keep their framework's own words and values.

A backend without them has `frontend = None` and `composites = None`: `protocol.py` is enough to write one.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

__all__ = ["Composites", "Frontend", "MakeVariable"]

Array = Any

MakeVariable = Callable[..., Any]
"""Makes a variable of the strategy, as `simstrategy.Variable` does, from names of synchronization and aggregation."""


class Frontend(Protocol):
    """Optional: the framework's own words in a strategy: its variables, compiled functions, datasets and loops."""

    def attach(self, make: MakeVariable) -> Callable[[], AbstractContextManager[None]]:
        """Returns what enters a scope: inside, in that thread, the variables asked of the framework come of `make`.

        Called once for each strategy; the scope is entered by `Strategy.scope` and by every replica.
        """
        ...

    def variable(self, value: Any) -> Any:
        """Returns what `make` made, of the framework's variable that stands for it; anything else as it is."""
        ...

    def compiled(self, function: Any, run: Callable[..., Any]) -> Callable[..., Any] | None:
        """Returns, for a function that the framework compiles, one that compiles `run(inner, args, kwargs)` instead.

        It takes `(args, kwargs)`. None where the function is an ordinary one.
        """
        ...

    def source(self, dataset: Any) -> Any:
        """Returns the framework's dataset as a `simstrategy.data.Source`; anything else as it is."""
        ...

    def dataset(self, dataset: Any) -> Any:
        """Returns a distributed dataset, or an iterator over one, as the framework's own loops take it."""
        ...

    def count(self, array: Array, axes: tuple[int, ...]) -> Array:
        """Returns the number of elements along axes in an integer array: for sizes that only the graph will know."""
        ...


class Composites(Protocol):
    """Optional: the framework's values that are made of several arrays."""

    @property
    def types(self) -> tuple[type, ...]:
        """What `isinstance` tells such values by."""
        ...

    def parts(self, value: Any, call: str) -> tuple[Array, ...]:
        """Returns the arrays that a sum of several such values puts end to end; the first is what MEAN divides.

        Raises Unsupported for a value of a kind that has no sum; call: what was asked for.
        """
        ...

    def joined(self, value: Any, parts: Sequence[Array]) -> Any:
        """Returns a value like `value` of other parts."""
        ...

    def dense(self, value: Any) -> Array:
        """Returns the value as one array.  Raises Unsupported where that would not be what is meant."""
        ...
