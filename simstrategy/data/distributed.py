"""Datasets as every replica sees them: steps of PerReplica values, iterated over again and again."""

import sys
from typing import Any, final

from simstrategy import tree
from simstrategy.data.iterators import DistributedIterator, InputPlacement, OptionalValue
from simstrategy.data.step_sources import StepSource
from simstrategy.errors import InvalidArgument, OutOfRangeError
from simstrategy.values import PerReplica

__all__ = ["DistributedDataset", "InputIterator"]


@final
class DistributedDataset:
    """Iterates over steps; each is a nest of PerReplica values.  Re-iterable if its source is.  Clauses: D-2."""

    __slots__ = ("_epochs", "_placement", "_step_source")

    def __init__(self, step_source: StepSource, placement: InputPlacement) -> None:
        self._step_source = step_source
        self._placement = placement
        self._epochs = 0

    def __iter__(self) -> DistributedIterator:
        self._placement.forbid()
        self._epochs += 1
        return DistributedIterator(self._step_source, self._placement, self._epochs - 1, lambda: self.element_spec)

    @property
    def element_spec(self) -> Any:
        """The nest of forms of a step: `ElementSpec` with one replica, else PerReplica of them.

        Raises InvalidArgument where only elements that have not come yet could tell.
        """
        spec = self._step_source.spec()
        if spec is None:
            raise InvalidArgument(
                "The form of the elements is not known before they come: the source is empty, or can be iterated over "
                "only once. Use a simstrategy.data.Dataset, with an output_signature where it is a generator's."
            )
        replicas = self._placement.replicas
        return spec if replicas == 1 else tree.map_leaves(lambda leaf: PerReplica([leaf] * replicas), spec)


@final
class InputIterator:
    """What `make_dataset_iterator` and `make_input_fn_iterator` return: a pass that can be begun anew."""

    __slots__ = ("_dataset", "_iterator")

    def __init__(self, step_source: StepSource, placement: InputPlacement) -> None:
        self._dataset = DistributedDataset(step_source, placement)
        self._iterator = iter(self._dataset)

    def initialize(self) -> list[Any]:
        """Begins from the start; returns the operations to run, of which there are none."""
        self._iterator = iter(self._dataset)
        return []

    @property
    def element_spec(self) -> Any:
        """The nest of forms of a step; see `DistributedDataset.element_spec`."""
        return self._dataset.element_spec

    def __iter__(self) -> "InputIterator":
        return self

    def __next__(self) -> Any:
        step = self._iterator.step_at(sys._getframe(1))
        if not step:
            raise StopIteration
        return step[0]

    def get_next(self) -> Any:
        """Returns the next step.  Raises OutOfRangeError at the end."""
        step = self._iterator.step_at(sys._getframe(1))
        if not step:
            raise OutOfRangeError("The input has no further step; call initialize() to begin from the start.")
        return step[0]

    def get_next_as_optional(self) -> OptionalValue:
        """Returns the next step, or at the end an optional without a value."""
        return OptionalValue(self._iterator.step_at(sys._getframe(1)))
