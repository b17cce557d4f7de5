"""Compiles every function that a strategy runs, also of a program that compiles nothing: for checks.

What does not compile is left out by its caller, who runs the program again: it may have had effects while traced.
"""

from collections.abc import Callable, Collection, Hashable
from types import MethodType
from typing import Any, final

from simstrategy.device import Compilation
from simstrategy.run import function_key
from simstrategy.strategy.arguments import Identity
from simstrategy.strategy.compiling import CompiledStep
from simstrategy.strategy.running import Runner

__all__ = ["EveryStep", "compile_every_step"]


@final
class EveryStep:
    """The compiled steps of a strategy, one for each function that it has run.

    left_out: functions that run as they are, as `function_key` names them.
    """

    def __init__(self, runner: Runner, compilation: Compilation, left_out: Collection[str]) -> None:
        self._runner = runner
        self._compilation = compilation
        self._left_out = left_out
        self._steps: dict[Hashable, CompiledStep] = {}
        """By the identity of functions: equal callables may compute other things."""
        self._names: dict[CompiledStep, str] = {}
        self.last: str | None = None
        """The function that was run last as a compiled step."""

    @property
    def programs(self) -> int:
        """How many programs the steps were compiled to."""
        return len(self._runner.programs)

    @property
    def runs_as_tasks(self) -> int:
        """How many runs of compiled steps one program could not serve, such as those with parts of unequal sizes."""
        return sum(step.runs_as_tasks for step in self._steps.values())

    @property
    def refused(self) -> dict[str, str]:
        """The functions whose programs could not be made or raised, with what they raised, also if it was caught."""
        return {name: step.error for step, name in self._names.items() if step.error is not None}

    def __call__(self, function: Callable[..., Any]) -> CompiledStep | None:
        name = str(function_key(function))
        if name in self._left_out:
            return None
        key = _identity(function)
        step = self._steps.get(key)
        if step is None:
            step = self._steps[key] = CompiledStep(self._runner, self._compilation, function)
        if step.error is None:
            self._names[step] = name  # which shows what the function holds, and this may change
        self.last = name
        return step


def _identity(function: Callable[..., Any]) -> Hashable:
    if isinstance(function, MethodType):  # a new object at each reading
        return Identity(function.__self__), Identity(function.__func__)
    return Identity(function)


def compile_every_step(runner: Runner, left_out: Collection[str]) -> EveryStep | None:
    """Compiles from now on every function that a strategy runs.  None where its backend does not compile.

    left_out: functions that run as they are, as messages name them.
    """
    compilation = runner.group.backend.compilation
    if compilation is None:
        return None
    found = runner.compiled_as = EveryStep(runner, compilation, left_out)
    return found
