"""Distributed datasets: their steps are nests of PerReplica values, and they can be iterated over again."""

import sys
from typing import Any, final

from simstrategy import tree
from simstrategy.data.iterators import DistributedIterator, InputPlacement, OptionalValue
from simstrategy.data.step_sources import StepSource
from simstrategy.errors import InvalidArgument, OutOfRangeError
from simstrategy.not_copied import DISTRIBUTED_DATA, NotCopied
from simstrategy.notebook import card
from simstrategy.short_repr import short_repr
from simstrategy.values import PerReplica

__all__ = ["DistributedDataset", "InputIterator"]


@final
class DistributedDataset(NotCopied):
    """The result of `experimental_distribute_dataset`: yields steps, nests of PerReplica values.

    With one replica, a step is the replica's part itself. It can be iterated over again if its source can.
    Clauses: D-2.
    """

    __slots__ = ("_epochs", "_placement", "_step_source")
    not_copied = DISTRIBUTED_DATA

    def __init__(self, step_source: StepSource, placement: InputPlacement) -> None:
        self._step_source = step_source
        self._placement = placement
        self._epochs = 0

    def __repr__(self) -> str:
        place = self._placement
        return f"<DistributedDataset: {place.replicas} replicas of worker {place.worker} of {place.workers}>"

    def _repr_html_(self) -> str:
        """Returns what a step is, for notebooks; no step is drawn."""
        place, spec = self._placement, self._step_source.spec()
        leaves = [] if spec is None else tree.flatten(spec)[0]
        rows = ([str(number), short_repr(leaf)] for number, leaf in enumerate(leaves))
        known = () if spec is not None else ("The form of the elements is not known before the first one.",)
        notes = (f"worker {place.worker} of {place.workers}, {place.replicas} replicas here", *known)
        title = "DistributedDataset: each replica receives a part of every step"
        return card(title, ["leaf", "form of a part"], rows, total=len(leaves), notes=notes)

    def __iter__(self) -> DistributedIterator:
        self._placement.forbid()
        self._epochs += 1
        return DistributedIterator(self._step_source, self._placement, self._epochs - 1, lambda: self.element_spec)

    @property
    def element_spec(self) -> Any:
        """The nest of specs of a step: `ElementSpec` with one replica, else PerReplica of them.

        Raises InvalidArgument where the spec cannot be determined before the first element.
        """
        spec = self._step_source.spec()
        if spec is None:
            raise InvalidArgument(
                "The spec of the elements cannot be determined: the source is empty, or can be iterated over only "
                "once. Use a simstrategy.data.Dataset; for a generator, pass an output_signature."
            )
        replicas = self._placement.replicas
        return spec if replicas == 1 else tree.map_leaves(lambda leaf: PerReplica([leaf] * replicas), spec)


@final
class InputIterator(NotCopied):
    """The result of `make_dataset_iterator` and `make_input_fn_iterator`: an iterator that can be reset."""

    __slots__ = ("_dataset", "_iterator")
    not_copied = DISTRIBUTED_DATA

    def __init__(self, step_source: StepSource, placement: InputPlacement) -> None:
        self._dataset = DistributedDataset(step_source, placement)
        self._iterator = iter(self._dataset)

    def initialize(self) -> list[Any]:
        """Goes back to the first step.  Returns an empty list, in place of TensorFlow's initializer operations."""
        self._iterator = iter(self._dataset)
        return []

    @property
    def element_spec(self) -> Any:
        """The nest of specs of a step; see `DistributedDataset.element_spec`."""
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
            raise OutOfRangeError("The input has no further step. Call initialize() to start again.")
        return step[0]

    def get_next_as_optional(self) -> OptionalValue:
        """Returns the next step, or at the end an optional without a value."""
        return OptionalValue(self._iterator.step_at(sys._getframe(1)))
