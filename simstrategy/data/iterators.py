"""One pass over a distributed dataset: its steps, how it ends, and what may not be asked inside a replica.

Where the group spans workers, they agree before every step whether there is one: iteration goes on until
every worker is out of data, and those that are out of it get empty parts.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any, Protocol, final

from simstrategy import tree
from simstrategy.data.elements import cut, empty_of_spec
from simstrategy.data.nodes import Iteration
from simstrategy.data.parts import EMPTY
from simstrategy.data.step_sources import Step, StepSource
from simstrategy.errors import InvalidArgument, OutOfRangeError

__all__ = ["Agree", "Distribute", "DistributedIterator", "InputPlacement", "OptionalValue"]

Agree = Callable[[int, FrameType], Sequence[int]]
"""Tells all workers how a step is here, at the call in a frame, and returns what each of them told."""

_NO_STEP, _INCOMPLETE, _COMPLETE = 0, 1, 2
"""What a worker tells of a step."""


class Distribute(Protocol):
    """Makes one nest of the local replicas' lists of host leaves."""

    def __call__(self, values: Sequence[Any], /, *, structure: tree.Structure | None) -> Any: ...


@final
@dataclass(frozen=True, slots=True)
class InputPlacement:
    """What the strategy brings: who iterates, and how host arrays become replicas' values."""

    workers: int
    worker: int
    replicas: int
    """Of this worker."""
    distribute: Distribute
    forbid: Callable[[], None]
    """Raises inside replica functions."""
    agree: Agree | None
    """None with one worker: there is nobody to ask."""
    choose: Callable[[str, int], int]
    """The schedule's."""

    def iteration(self, epoch: int) -> Iteration:
        """Returns what decides in this worker's iteration number `epoch`."""
        return Iteration(self.choose, f"shuffle of worker {self.worker}", (epoch,))


@final
class OptionalValue:
    """A step, or none: what `get_next_as_optional` returns."""

    __slots__ = ("_step",)

    def __init__(self, step: tuple[Any, ...]) -> None:
        self._step = step

    def has_value(self) -> bool:
        """Tells whether there is a step."""
        return bool(self._step)

    def get_value(self) -> Any:
        """Returns the step.  Raises InvalidArgument where there is none."""
        if not self._step:
            raise InvalidArgument("This optional has no value: the dataset was at its end. Ask has_value() first.")
        return self._step[0]


@final
class DistributedIterator:
    """One pass over a distributed dataset.  Clauses: D-2, D-4."""

    __slots__ = ("_ended", "_form", "_placement", "_spec", "_step_source", "_steps")

    def __init__(self, step_source: StepSource, placement: InputPlacement, epoch: int, spec: Callable[[], Any]) -> None:
        self._step_source, self._placement = step_source, placement
        self._steps: Iterator[Step] = step_source.steps(placement.iteration(epoch))
        self._spec = spec
        self._form: Any = EMPTY
        """Some part that has come, without its rows: what an empty part looks like."""
        self._ended = False

    @property
    def element_spec(self) -> Any:
        """The nest of forms of a step; see `DistributedDataset.element_spec`."""
        return self._spec()

    def __iter__(self) -> "DistributedIterator":
        return self

    def __next__(self) -> Any:
        step = self.step_at(sys._getframe(1))
        if not step:
            raise StopIteration
        return step[0]

    def get_next(self) -> Any:
        """Returns the next step.  Raises OutOfRangeError at the end."""
        step = self.step_at(sys._getframe(1))
        if not step:
            raise OutOfRangeError("The distributed dataset has no further step; iterate over it anew.")
        return step[0]

    def get_next_as_optional(self) -> OptionalValue:
        """Returns the next step, or at the end an optional without a value."""
        return OptionalValue(self.step_at(sys._getframe(1)))

    def step_at(self, frame: FrameType) -> tuple[Any, ...]:
        """Returns the next step as a tuple of one, or () at the end; frame: of the call that asks."""
        self._placement.forbid()
        if self._ended:
            return ()
        step = self._known(next(self._steps, None))
        if not self._goes_on(step, frame):
            self._ended = True
            return ()
        parts = [EMPTY] * self._placement.replicas if step is None else step.parts
        filled = self._filled(parts)
        flat = [tree.flatten(part) for part in filled]
        structure = flat[0][1]
        placed, _ = tree.flatten(self._placement.distribute([leaves for leaves, _ in flat], structure=structure))
        # Into the element's own nest, whose mappings keep the order of their keys.
        return (tree.refill(filled[0], structure, placed),)

    def _known(self, step: Step | None) -> Step | None:
        """Returns the step, or none where it is of empty parts and nothing at all tells what they look like."""
        if step is not None and self._form is EMPTY and all(part is EMPTY for part in step.parts):
            spec = self._step_source.spec()
            if spec is None:
                return None
            self._form = empty_of_spec(spec)
        return step

    def _goes_on(self, step: Step | None, frame: FrameType) -> bool:
        agree = self._placement.agree
        if agree is None:
            return step is not None and (step.complete or not self._drops_incomplete(step))
        here = _NO_STEP if step is None else _COMPLETE if step.complete else _INCOMPLETE
        told = agree(here, frame)
        return max(told) > _NO_STEP and (min(told) == _COMPLETE or not self._drops_incomplete(step))

    def _drops_incomplete(self, step: Step | None) -> bool:
        parts = [] if step is None else step.parts
        return self._step_source.drops_incomplete(next((part for part in parts if part is not EMPTY), self._form))

    def _filled(self, parts: list[Any]) -> list[Any]:
        """Returns the parts with what stands for the empty ones: no rows, other sizes and dtypes as ever."""
        if self._form is EMPTY:
            known = next((part for part in parts if part is not EMPTY), EMPTY)
            if known is not EMPTY and all(leaf.ndim for leaf in tree.flatten(known)[0]):
                self._form = cut(known, 0, 0)
        if not any(part is EMPTY for part in parts):
            return parts
        if self._form is EMPTY:
            self._form = self._form_of_spec()
        return [self._form if part is EMPTY else part for part in parts]

    def _form_of_spec(self) -> Any:
        spec = self._step_source.spec()
        if spec is None:
            raise InvalidArgument(
                "A replica gets an empty part, and no element has come yet that could say of what form. Distribute a "
                "simstrategy.data.Dataset, or a list of batches, in place of an iterator."
            )
        return empty_of_spec(spec)
