"""Cuts the batches of a source into the parts of one worker's replicas, by the rules of `splitting.py`.

A part is a nest of arrays, or EMPTY where it contains nothing of the source. Steps and devices are not part of this.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Final

from simstrategy import tree
from simstrategy.data.elements import Element, Leaf, concatenate, cut
from simstrategy.data.sharding import Sharding, ShardUnit
from simstrategy.data.splitting import Part, SplitRule, chunks_of, stream_parts, worker_sizes
from simstrategy.errors import InvalidArgument

__all__ = ["EMPTY", "by_stream", "per_batch", "worker_parts"]


class _Empty:
    """The type of EMPTY, which stands for a part without elements whose spec is not determined yet."""

    def __repr__(self) -> str:
        return "EMPTY"


EMPTY: Final = _Empty()


def worker_parts(
    elements: Iterator[Any], sharding: Sharding, batch_size: int | None, *, workers: int, worker: int, replicas: int
) -> Iterator[Any]:
    """Yields the parts of one worker's replicas, replica by replica, step by step.

    elements: what the worker reads, already sharded if the unit is files or a hint. batch_size: of the global
    batch, for the stream rule; None takes the size of the first batch.
    """
    total = workers * replicas
    if total == 1:
        # A single replica gets every element as it is, batched or not.
        yield from elements
        return
    by_element = sharding.unit is ShardUnit.ELEMENTS
    if sharding.rule is SplitRule.PER_BATCH:
        chunks = range(worker, total, workers) if by_element else range(total)
        yield from per_batch(elements, total, chunks)
        return
    if batch_size is None:
        first = next(elements, None)
        if first is None:
            return
        batch_size = max(_rows(first, 0), 1)
        elements = _before(first, elements)
    if by_element:
        sizes = worker_sizes(batch_size, workers, replicas, 0)
        yield from islice(by_stream(elements, sizes), worker, None, workers)
    else:
        yield from by_stream(elements, worker_sizes(batch_size, workers, replicas, worker))


def per_batch(batches: Iterable[Any], count: int, numbers: Sequence[int]) -> Iterator[Any]:
    """Cuts every batch into `count` chunks and yields those of the given numbers.  Clauses: D-1.

    Each array is cut by its own number of rows. Raises InvalidArgument for scalars.
    """
    for number, batch in enumerate(batches):
        leaves, structure = tree.flatten(batch)
        for leaf in leaves:
            _check_rows(leaf, number)
        # Of these numbers alone: a worker of many has a small part of all chunks.
        chunks = [chunks_of(len(leaf), count, numbers) for leaf in leaves]
        for place in range(len(numbers)):
            rows = [leaf[slice(*chunk[place])] for leaf, chunk in zip(leaves, chunks, strict=True)]
            yield tree.refill(batch, structure, rows)


def by_stream(batches: Iterable[Any], sizes: Sequence[int]) -> Iterator[Any]:
    """Yields parts of the given sizes of batches laid end to end.  Clauses: D-3.

    Keeps only the batches of the current part in memory. Raises InvalidArgument for scalars, and for batches whose
    arrays have unequal numbers of rows.
    """
    held: dict[int, Any] = {}

    def row_counts() -> Iterator[int]:
        for number, batch in enumerate(batches):
            held[number] = batch
            yield _rows(batch, number)

    for part in stream_parts(row_counts(), sizes):
        yield _assembled(part, held) if part else EMPTY
        for number in [number for number in held if part and number < part[-1][0]]:
            del held[number]


def _assembled(part: Part, held: dict[int, Element]) -> Element:
    return concatenate([cut(held[number], start, stop) for number, start, stop in part], "the stream of batches")


def _rows(batch: Element, number: int) -> int:
    leaves, _ = tree.flatten(batch)
    for leaf in leaves:
        _check_rows(leaf, number)
    sizes = [len(leaf) for leaf in leaves]
    if len(set(sizes)) != 1:
        raise InvalidArgument(
            f"Element {number} of the dataset has arrays of {sizes} rows, and only arrays of equal size can be split "
            f"as one stream. Use SplitRule.PER_BATCH, or arrays with equal numbers of rows."
        )
    return sizes[0]


def _check_rows(leaf: Leaf, number: int) -> None:
    if leaf.ndim == 0:
        raise InvalidArgument(
            f"Element {number} of the dataset is a scalar {leaf.dtype}: input shape should have at least one "
            f"dimension. Perhaps your input dataset is not batched? Call .batch(global_batch_size) on it."
        )


def _before(first: Element, rest: Iterator[Element]) -> Iterator[Element]:
    yield first
    yield from rest
