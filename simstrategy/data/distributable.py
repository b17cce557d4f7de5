"""The protocol of everything that can be distributed, implemented for our datasets and for any iterable.

A framework's backend that can inspect the framework's datasets wraps them in a `Source`. Any other iterable is a
source of batches whose sizes and specs are not known before the first batch.
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
    """A dataset of global batches, and the facts about it that can be determined without its elements."""

    def options(self) -> Options:
        """Returns the options of distribution that the dataset carries."""
        ...

    def batch_size(self) -> int | None:
        """Returns the size of the global batch if it can be determined without the elements, else None."""
        ...

    def last_batch_size(self) -> int | None:
        """Returns the batch size if the last step of the pipeline makes batches, else None."""
        ...

    def files(self, up_to: int) -> int | None:
        """Returns the number of files, at most `up_to`; None where files cannot be distributed over workers."""
        ...

    def by_file(self, workers: int, worker: int) -> "Source":
        """Returns the dataset that reads the files whose number modulo `workers` is `worker`."""
        ...

    def by_hint(self, workers: int, worker: int) -> "Source":
        """Returns the dataset with its `shard(SHARD_HINT, 0)` replaced by the shard of a worker."""
        ...

    def element_spec(self) -> Any:
        """Returns a nest of `ElementSpec`, or None where it cannot be determined."""
        ...

    def elements(self, iteration: Iteration) -> Iterator[Any]:
        """Starts an iteration over nests of host arrays [batch, …]."""
        ...


@final
class PipelineSource:
    """A pipeline of nodes as a source, with state, such as caches, of its own."""

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
    """Returns the source of a dataset or an iterable.  Raises InvalidType for anything else."""
    if isinstance(dataset, Dataset):
        return PipelineSource(dataset.node)
    if isinstance(dataset, Source):
        return dataset
    return PipelineSource(from_iterable(dataset))
