"""Decides which replica gets which elements of which batch: pure functions over indices, without arrays.

TensorFlow has two rules. `SplitRule.PER_BATCH` cuts every batch separately into equal chunks.
`SplitRule.STREAM` joins the batches to one stream and cuts it into parts of fixed sizes.
"""

from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from itertools import cycle

from simstrategy.errors import InvalidArgument

__all__ = [
    "Chunk",
    "Part",
    "Piece",
    "SplitRule",
    "chunks_of",
    "per_batch_chunks",
    "per_batch_parts",
    "stream_parts",
    "worker_chunks",
    "worker_sizes",
]

Chunk = tuple[int, int]
"""The first index, and the index after the last one."""

Piece = tuple[int, int, int]
"""The number of a batch, and a chunk of it."""

Part = tuple[Piece, ...]
"""What one replica gets in one step: the pieces are concatenated; () is an empty part."""


class SplitRule(Enum):
    """How a stream of batches is split over replicas."""

    PER_BATCH = "per batch"
    """Cuts each batch of b elements into N chunks of ceil(b / N): TensorFlow 1.15, and 2.x in some cases."""
    STREAM = "stream"
    """Cuts the stream into parts of B / N elements, whatever the sizes of the batches: the other cases of 2.x."""


def per_batch_chunks(size: int, count: int) -> list[Chunk]:
    """Cuts a batch of `size` elements into `count` chunks of ceil(size / count); the last ones may be short or empty.

    Raises InvalidArgument for a negative size, or less than one chunk. Clauses: D-1. Source:
    TensorFlow 1.15.5 and 2.21.0, as recorded.

    >>> per_batch_chunks(5, 4)
    [(0, 2), (2, 4), (4, 5), (5, 5)]
    """
    return chunks_of(size, count, range(count))


def chunks_of(size: int, count: int, numbers: Sequence[int]) -> list[Chunk]:
    """Returns those of `count` chunks that have these numbers; see `per_batch_chunks`.

    >>> chunks_of(5, 4, [2])
    [(4, 5)]
    """
    if count < 1 or size < 0:
        raise InvalidArgument(
            f"A batch of {size} elements cannot be cut into {count} chunks. Use a size of at least 0 and a count of at "
            f"least 1."
        )
    width = -(-size // count)
    return [(min(i * width, size), min((i + 1) * width, size)) for i in numbers]


def worker_chunks(size: int, workers: int, replicas: int, worker: int) -> list[Chunk]:
    """Returns the chunks of one worker's replicas: replica j takes chunk j * workers + worker of the batch.

    Raises InvalidArgument for a worker that does not exist. Clauses: D-1.

    >>> worker_chunks(8, 2, 2, 1)
    [(2, 4), (6, 8)]
    """
    _check_worker(worker, workers)
    return chunks_of(size, workers * replicas, range(worker, workers * replicas, workers))


def worker_sizes(batch: int, workers: int, replicas: int, worker: int) -> list[int]:
    """Returns the sizes of N = workers * replicas parts by the stream rule, in the order in which a worker uses them.

    The first batch mod N parts have one element more than the others. Each worker begins with the sizes of its
    own replicas and repeats the list, so that every step of all workers has `batch` elements. Raises
    InvalidArgument for a worker that does not exist, and for counts below 1. Clauses: D-3.
    Source: TensorFlow 2.21.0, as recorded.

    >>> [worker_sizes(4, 3, 1, worker) for worker in range(3)]
    [[2, 1, 1], [1, 1, 2], [1, 2, 1]]
    """
    _check_worker(worker, workers)
    if batch < 1 or replicas < 1:
        raise InvalidArgument(
            f"A batch of {batch} elements cannot be split over {replicas} replicas per worker. Use at least 1 of both."
        )
    parts = workers * replicas
    each, more = divmod(batch, parts)
    sizes = [each + 1] * more + [each] * (parts - more)
    first = worker * replicas
    return sizes[first:] + sizes[:first]


def per_batch_parts(batches: Iterable[int], count: int) -> Iterator[Part]:
    """Yields `count` parts for each of the batches of the given sizes.

    >>> list(per_batch_parts([3], 2))
    [((0, 0, 2),), ((0, 2, 3),)]
    """
    for number, size in enumerate(batches):
        for start, stop in per_batch_chunks(size, count):
            yield ((number, start, stop),)


def stream_parts(batches: Iterable[int], sizes: Sequence[int]) -> Iterator[Part]:
    """Yields parts of the given sizes, again and again, from batches of the given sizes laid end to end.

    The size of a batch is read when its first element is needed. A part of size 0 needs no input, so it is
    yielded even after the last element. A part that is shorter than its size is the last one. Raises
    InvalidArgument for sizes that are negative or all 0. Clauses: D-3, D-4.

    >>> list(stream_parts([4, 2], [3, 3]))
    [((0, 0, 3),), ((0, 3, 4), (1, 0, 2))]
    """
    if not sizes or min(sizes) < 0 or max(sizes) == 0:
        raise InvalidArgument(
            f"A stream cannot be split into parts of {list(sizes)} elements. Use sizes of at least 0, and one above 0."
        )
    source = enumerate(batches)
    number, at, size = -1, 0, 0
    for wanted in cycle(sizes):
        pieces: list[Piece] = []
        missing = wanted
        while missing:
            if at == size:
                found = next(source, None)
                if found is None:
                    break
                (number, size), at = found, 0
                continue
            stop = min(at + missing, size)
            pieces.append((number, at, stop))
            missing -= stop - at
            at = stop
        if wanted and not pieces:
            return
        yield tuple(pieces)
        if missing:
            return


def _check_worker(worker: int, workers: int) -> None:
    if not 0 <= worker < workers:
        raise InvalidArgument(
            f"There is no worker {worker} among {workers} workers. Use a number from 0 to {workers - 1}."
        )
