"""Who gets which elements of a batch: pure functions over indices, no arrays, no backends."""

from simstrategy.errors import InvalidArgument

__all__ = ["Chunk", "per_batch_chunks", "worker_chunks"]

Chunk = tuple[int, int]
"""First index, and the index after the last."""


def per_batch_chunks(size: int, count: int) -> list[Chunk]:
    """Cuts a batch of `size` elements into `count` chunks of ceil(size / count); the last may be short or empty.

    The per-batch rule of TensorFlow 1.15: every batch is cut on its own.

    >>> per_batch_chunks(5, 4)
    [(0, 2), (2, 4), (4, 5), (5, 5)]
    """
    if count < 1 or size < 0:
        raise InvalidArgument(f"A batch of {size} elements cannot be cut into {count} chunks.")
    width = -(-size // count)
    return [(min(i * width, size), min((i + 1) * width, size)) for i in range(count)]


def worker_chunks(size: int, workers: int, replicas: int, worker: int) -> list[Chunk]:
    """Returns the chunks of one worker's replicas: replica j takes chunk j * workers + worker of the batch.

    >>> worker_chunks(8, 2, 2, 1)
    [(2, 4), (6, 8)]
    """
    if not 0 <= worker < workers:
        raise InvalidArgument(f"Worker {worker} is none of {workers} workers.")
    chunks = per_batch_chunks(size, workers * replicas)
    return [chunks[j * workers + worker] for j in range(replicas)]
