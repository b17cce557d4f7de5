"""One pass over a distributed dataset: its steps, its end, and the refusal inside replica functions.

Where the group has several workers, they exchange a status before every step: the iteration continues until every
worker is out of data, and a worker that is out of data gets empty parts.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any, Protocol, final

from simstrategy import tree
from simstrategy.data.elements import Element, cut, empty_of_spec
from simstrategy.data.nodes import Iteration
from simstrategy.data.parts import EMPTY
from simstrategy.data.step_sources import Step, StepSource
from simstrategy.errors import InvalidArgument, OutOfRangeError
from simstrategy.not_copied import DISTRIBUTED_DATA, NotCopied

__all__ = ["Agree", "Distribute", "DistributedIterator", "InputPlacement", "OptionalValue", "WatchSteps"]

Agree = Callable[[int, FrameType], Sequence[int]]
"""Sends the status of a step, and the call site of a frame, to all workers; returns the status of each worker."""

WatchSteps = Callable[[int, Sequence[list[Any]] | None], None]
"""Receives the number of a pass and, for each local replica, the leaves of its part; None at the end of the pass."""

_NO_STEP, _INCOMPLETE, _COMPLETE = 0, 1, 2
"""The status of a step in one worker."""


class Distribute(Protocol):
    """Makes one nest of values of the local replicas; values: for each replica, its leaves as host arrays."""

    def __call__(self, values: Sequence[Any], /, *, structure: tree.Structure | None) -> Any: ...


@final
@dataclass(frozen=True, slots=True)
class InputPlacement:
    """Where the steps of a dataset go: the workers and replicas, and how host arrays become values of replicas."""

    workers: int
    worker: int
    replicas: int
    """The number of local replicas."""
    distribute: Distribute
    forbid: Callable[[], None]
    """Raises ContextError inside replica functions."""
    agree: Agree | None
    """None with one worker."""
    choose: Callable[[str, int], int]
    """`Schedule.choose`."""
    copies: bool
    """Whether `distribute` copies the arrays of a step."""
    watches: Sequence[WatchSteps] = ()
    """What receives the steps that are drawn."""

    def iteration(self, epoch: int) -> Iteration:
        """Returns the source of choices of iteration number `epoch` of this worker."""
        return Iteration(self.choose, f"shuffle of worker {self.worker}", (epoch,), kept=not self.copies)


@final
class OptionalValue:
    """The result of `get_next_as_optional`: a step, or nothing."""

    __slots__ = ("_step",)

    def __init__(self, step: tuple[Any, ...]) -> None:
        self._step = step

    def has_value(self) -> bool:
        """Returns whether there is a step."""
        return bool(self._step)

    def get_value(self) -> Any:
        """Returns the step.  Raises InvalidArgument where there is none."""
        if not self._step:
            raise InvalidArgument("This optional has no value: the dataset had ended. Call has_value() first.")
        return self._step[0]


@final
class DistributedIterator(NotCopied):
    """One pass over a distributed dataset: yields steps, nests of PerReplica values.

    With one replica, a step is the replica's part itself. Each call raises ContextError inside replica functions.
    Clauses: D-2, D-4.
    """

    __slots__ = ("_ended", "_epoch", "_form", "_placement", "_spec", "_step_source", "_steps")
    not_copied = DISTRIBUTED_DATA

    def __init__(self, step_source: StepSource, placement: InputPlacement, epoch: int, spec: Callable[[], Any]) -> None:
        self._step_source, self._placement = step_source, placement
        self._steps: Iterator[Step] = step_source.steps(placement.iteration(epoch))
        self._spec = spec
        self._epoch = epoch
        self._form: Any = EMPTY
        """An empty part: an earlier part without its rows, or EMPTY before the first one."""
        self._ended = False

    @property
    def element_spec(self) -> Any:
        """The nest of specs of a step; see `DistributedDataset.element_spec`."""
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
            raise OutOfRangeError("The distributed dataset has no further step. Call iter(dataset) for another pass.")
        return step[0]

    def get_next_as_optional(self) -> OptionalValue:
        """Returns the next step, or at the end an optional without a value."""
        return OptionalValue(self.step_at(sys._getframe(1)))

    def step_at(self, frame: FrameType) -> tuple[Any, ...]:
        """Returns the next step as a tuple of one, or () at the end; frame: the frame of the user's call."""
        self._placement.forbid()
        if self._ended:
            return ()
        step = self._describable(next(self._steps, None))
        watches = self._placement.watches
        if not self._continues(step, frame):
            self._ended = True
            for watch in watches:
                watch(self._epoch, None)
            return ()
        parts = [EMPTY] * self._placement.replicas if step is None else step.parts
        filled = self._filled(parts)
        flat = [tree.flatten(part) for part in filled]
        rows, structure = [leaves for leaves, _ in flat], flat[0][1]
        for watch in watches:
            watch(self._epoch, rows)
        placed, _ = tree.flatten(self._placement.distribute(rows, structure=structure))
        # `refill` keeps the order of the keys of the element's mappings.
        return (tree.refill(filled[0], structure, placed),)

    def _describable(self, step: Step | None) -> Step | None:
        """Returns the step, or None where all parts are empty and their spec cannot be determined."""
        if step is not None and self._form is EMPTY and all(part is EMPTY for part in step.parts):
            spec = self._step_source.spec()
            if spec is None:
                return None
            self._form = empty_of_spec(spec)
        return step

    def _continues(self, step: Step | None, frame: FrameType) -> bool:
        agree = self._placement.agree
        if agree is None:
            return step is not None and (step.complete or not self._drops_incomplete(step))
        here = _NO_STEP if step is None else _COMPLETE if step.complete else _INCOMPLETE
        statuses = agree(here, frame)
        return max(statuses) > _NO_STEP and (min(statuses) == _COMPLETE or not self._drops_incomplete(step))

    def _drops_incomplete(self, step: Step | None) -> bool:
        parts = [] if step is None else step.parts
        return self._step_source.drops_incomplete(next((part for part in parts if part is not EMPTY), self._form))

    def _filled(self, parts: list[Any]) -> list[Any]:
        """Replaces EMPTY by parts of 0 rows with the dtypes and the other sizes of the dataset."""
        if self._form is EMPTY:
            known = next((part for part in parts if part is not EMPTY), EMPTY)
            if known is not EMPTY and all(leaf.ndim for leaf in tree.flatten(known)[0]):
                self._form = cut(known, 0, 0)
        if not any(part is EMPTY for part in parts):
            return parts
        if self._form is EMPTY:
            self._form = self._form_of_spec()
        return [self._form if part is EMPTY else part for part in parts]

    def _form_of_spec(self) -> Element:
        spec = self._step_source.spec()
        if spec is None:
            raise InvalidArgument(
                "A replica gets an empty part before the first element, so its shape and dtype cannot be determined. "
                "Distribute a simstrategy.data.Dataset, or a list of batches, instead of an iterator."
            )
        return empty_of_spec(spec)
