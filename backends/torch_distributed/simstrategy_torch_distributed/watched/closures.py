"""Steps that are given a closure: gradients are computed inside of such a step, so it begins after the first call."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, final

from torch.optim import Optimizer

__all__ = ["Beginning", "Given"]

Given = tuple[tuple[Any, ...], dict[str, Any]]
"""What the step of an optimizer is given: the optimizer and the arguments in their order, and those with names."""


@final
class Beginning:
    """When the step begins that runs.  calls: how often its closure was called."""

    def __init__(self) -> None:
        self.calls = 0
        self._begin: Callable[[], None] | None = None

    @property
    def is_waited_for(self) -> bool:
        """Whether a closure has not been called yet."""
        return self._begin is not None

    def after_closure(self, given: Sequence[Any], named: Mapping[str, Any], begin: Callable[[], None]) -> Given | None:
        """Returns what a step is given, with a closure after whose first call it begins; None where it has no closure.

        given: as torch gives it to a hook, the optimizer first. begin: begins the step.
        """
        self.calls, self._begin = 0, None
        if not given or not isinstance(given[0], Optimizer):
            return None  # a step that is none of torch
        closure = given[1] if len(given) > 1 else named.get("closure")
        if not callable(closure):
            return None
        self._begin = begin

        def followed(*values: Any, **names: Any) -> Any:
            result = closure(*values, **names)
            self.calls += 1
            self.now()
            return result

        if len(given) > 1:
            return (given[0], followed, *given[2:]), dict(named)
        return tuple(given), {**named, "closure": followed}

    def now(self) -> None:
        """Begins the step, unless it has begun."""
        begin, self._begin = self._begin, None
        if begin is not None:
            begin()
