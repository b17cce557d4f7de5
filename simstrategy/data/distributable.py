"""What can be distributed: one protocol, and how our own datasets and plain iterables meet it.

A framework's backend that can look into its own datasets wraps them in a `Source`; whatever else can be
iterated over is a source of batches of which nothing is known before they come.
"""

from collections.abc import Iterator
from typing import Any, Protocol, final, runtime_checkable

from simstrategy.data import rewriting
from simstrategy.data.dataset import Dataset
from simstrategy.data.iterables import from_iterable
from simstrategy.data.nodes import Iteration, Node
from simstrategy.data.options import Options

__all__ = ["PipelineSource", "Source", "source_of"]


@runtime_checkable
class Source(Protocol):
    """A dataset of global batches, as far as it can be looked into."""

    def options(self) -> Options:
        """Returns what the dataset says of how it wants to be distributed."""
        ...

    def batch_size(self) -> int | None:
        """Returns the size of the global batch if the dataset tells it before its elements do, else None."""
        ...

    def last_batch_size(self) -> int | None:
        """Returns the size of a batch that is made at the very end of the pipeline, else None."""
        ...

    def files(self, up_to: int) -> int | None:
        """Returns how many files are read, counted to `up_to`; None where files cannot be dealt to workers."""
        ...

    def by_file(self, workers: int, worker: int) -> "Source":
        """Returns the dataset of one worker's files: those whose number modulo `workers` is `worker`."""
        ...

    def by_hint(self, workers: int, worker: int) -> "Source":
        """Returns the dataset with its own place for shards filled in."""
        ...

    def element_spec(self) -> Any:
        """Returns a nest of `ElementSpec`, or None where only elements tell."""
        ...

    def elements(self, iteration: Iteration) -> Iterator[Any]:
        """Starts an iteration over nests of host arrays, with the batch first."""
        ...


@final
class PipelineSource:
    """A pipeline of nodes, ours or an iterable, as a source; with memories of its own."""

    __slots__ = ("_node",)

    def __init__(self, node: Node) -> None:
        self._node = rewriting.with_new_state(node)

    def options(self) -> Options:
        return rewriting.options_of(self._node)

    def batch_size(self) -> int | None:
        return rewriting.batch_size_known(self._node)

    def last_batch_size(self) -> int | None:
        return rewriting.batch_size_at_the_end(self._node)

    def files(self, up_to: int) -> int | None:
        return rewriting.files_counted(self._node, up_to)

    def by_file(self, workers: int, worker: int) -> "PipelineSource":
        return PipelineSource(rewriting.by_file(self._node, workers, worker))

    def by_hint(self, workers: int, worker: int) -> "PipelineSource":
        return PipelineSource(rewriting.by_hint(self._node, workers, worker))

    def element_spec(self) -> Any:
        return self._node.spec()

    def elements(self, iteration: Iteration) -> Iterator[Any]:
        return self._node.elements(iteration)


def source_of(dataset: Any) -> Source:
    """Returns anything that can be distributed as a source.  Raises InvalidType for what cannot be iterated over."""
    if isinstance(dataset, Dataset):
        return PipelineSource(dataset.node)
    if isinstance(dataset, Source):
        return dataset
    return PipelineSource(from_iterable(dataset))
