"""A dataset of global batches as every replica sees it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol, final

import numpy as np

from simstrategy import tree
from simstrategy.data.splitting import Chunk, worker_chunks
from simstrategy.errors import InvalidArgument, InvalidType, OutOfRangeError

__all__ = ["Distribute", "DistributedDataset", "DistributedIterator"]


class Distribute(Protocol):
    """Makes one nest of the local replicas' lists of host leaves."""

    def __call__(self, values: Sequence[Any], /, *, structure: tree.Structure | None) -> Any: ...


@final
class DistributedDataset:
    """Iterates over steps; each is a nest of PerReplica values.  Re-iterable if its source is."""

    __slots__ = ("_distribute", "_forbid", "_replicas", "_source", "_worker", "_workers")

    def __init__(
        self,
        source: Iterable[Any],
        *,
        workers: int,
        worker: int,
        replicas: int,
        distribute: Distribute,
        forbid: Callable[[], None],
    ) -> None:
        if not isinstance(source, Iterable) or isinstance(source, (str, bytes, dict)):
            raise InvalidType(
                f"Expected a dataset or an iterable of batches, got a {type(source).__name__}. "
                f"Use simstrategy.data.Dataset.from_tensor_slices(...).batch(...)."
            )
        self._source = source
        self._workers, self._worker, self._replicas = workers, worker, replicas
        self._distribute = distribute
        self._forbid = forbid

    def __iter__(self) -> "DistributedIterator":
        self._forbid()
        return DistributedIterator(self._steps(), self._forbid)

    def _steps(self) -> Iterator[Any]:
        for number, batch in enumerate(self._source):
            leaves, structure = tree.flatten(batch)
            arrays = [np.asarray(leaf) for leaf in leaves]
            chunks = [self._chunks(array, number) for array in arrays]
            parts = [
                [array[slice(*own[j])] if array.ndim else array for array, own in zip(arrays, chunks, strict=True)]
                for j in range(self._replicas)
            ]
            yield self._distribute(parts, structure=structure)

    def _chunks(self, array: np.ndarray[Any, Any], number: int) -> list[Chunk]:
        if self._workers * self._replicas == 1:
            return [(0, len(array))] if array.ndim else [(0, 1)]
        if array.ndim == 0:
            raise InvalidArgument(
                f"Element {number} of the dataset is a scalar {array.dtype}: input shape should have at least one "
                f"dimension. Perhaps your input dataset is not batched? Call .batch(global_batch_size) on it."
            )
        return worker_chunks(len(array), self._workers, self._replicas, self._worker)


@final
class DistributedIterator:
    """One pass over a distributed dataset."""

    __slots__ = ("_forbid", "_steps")

    def __init__(self, steps: Iterator[Any], forbid: Callable[[], None]) -> None:
        self._steps = steps
        self._forbid = forbid

    def __iter__(self) -> "DistributedIterator":
        return self

    def __next__(self) -> Any:
        self._forbid()
        return next(self._steps)

    def get_next(self) -> Any:
        """Returns the next step.  Raises OutOfRangeError at the end."""
        try:
            return next(self)
        except StopIteration:
            raise OutOfRangeError("The distributed dataset has no further step; iterate over it anew.") from None
