"""Which rows of its distributed datasets a run drew: for each pass and step, each replica's rows by their contents.

Rows are known by a digest of all their arrays, so that equal rows are one. No row is kept.
"""

from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from itertools import zip_longest
from typing import Any, Final, NamedTuple, final

import numpy as np

from simstrategy.strategy.group import Group

__all__ = ["Drawn", "Pass", "together"]

_DIGEST_BYTES: Final = 12
_TEXT_KINDS: Final = "SUO"

Part = tuple[bytes, ...]
"""The digests of the rows of one replica in one step."""


class Pass(NamedTuple):
    """One pass over a dataset.  steps: for each step one part for each replica. ended: whether it came to the end."""

    steps: tuple[tuple[Part, ...], ...]
    ended: bool

    def rows(self) -> Iterator[bytes]:
        """Yields the rows of all replicas, step by step."""
        return (row for step in self.steps for part in step for row in part)

    def largest(self) -> int:
        """Returns the number of rows of the largest step."""
        return max((sum(map(len, step)) for step in self.steps), default=0)

    def of_replica(self, index: int) -> list[bytes]:
        """Returns the rows of one replica, in order."""
        return [row for step in self.steps for row in step[index]]


@final
class Drawn:
    """Receives the steps of one worker's distributed datasets, in the order in which they were distributed.

    unknown: whether a dataset has elements without rows, such as sparse ones, whose draws cannot be followed.
    """

    __slots__ = ("_datasets", "unknown")

    def __init__(self) -> None:
        self._datasets: list[dict[int, tuple[list[tuple[Part, ...]], list[bool]]]] = []
        self.unknown = False

    def attach(self, group: Group) -> None:
        """Makes this receive what a group's replicas draw."""
        group.settings.watches.data = self.watch

    def watch(self) -> Callable[[int, Sequence[list[Any]] | None], None]:
        """Returns what receives the steps of a new dataset (`Watches.data`)."""
        passes: dict[int, tuple[list[tuple[Part, ...]], list[bool]]] = {}
        self._datasets.append(passes)

        def drew(number: int, parts: Sequence[list[Any]] | None) -> None:
            steps, ended = passes.setdefault(number, ([], []))
            if parts is None:
                ended.append(True)
                return
            digests = [_digests(leaves) for leaves in parts]
            self.unknown = self.unknown or None in digests
            steps.append(tuple(part or () for part in digests))

        return drew

    def passes(self) -> list[dict[int, Pass]]:
        """Returns for each dataset its passes by number, from 0."""
        return [
            {number: Pass(tuple(steps), bool(ended)) for number, (steps, ended) in passes.items()}
            for passes in self._datasets
        ]


def together(workers: Sequence[Drawn]) -> list[dict[int, Pass]]:
    """Returns the passes of all workers as if their replicas were one worker's, for the datasets that all have."""
    every = [worker.passes() for worker in workers]
    found = []
    for datasets in zip(*every, strict=False):
        numbers = [number for number in datasets[0] if all(number in one for one in datasets)]
        found.append({number: _joined([one[number] for one in datasets]) for number in numbers})
    return found


def _joined(passes: Sequence[Pass]) -> Pass:
    widths = [len(one.steps[0]) if one.steps else 1 for one in passes]
    steps = []
    for row in zip_longest(*(one.steps for one in passes)):
        parts = [((),) * width if step is None else step for step, width in zip(row, widths, strict=True)]
        steps.append(tuple(part for step in parts for part in step))
    return Pass(tuple(steps), all(one.ended for one in passes))


def _digests(leaves: Sequence[Any]) -> Part | None:
    """Returns a digest for each row of a part: arrays [rows, …], or scalars, which are one row; else None."""
    if not leaves or not all(isinstance(leaf, np.ndarray) for leaf in leaves):
        return None
    if not any(leaf.ndim for leaf in leaves):
        return (_digest(leaves),)
    counts = {len(leaf) if leaf.ndim else -1 for leaf in leaves}
    if len(counts) != 1:
        return None
    return tuple(_digest([leaf[row] for leaf in leaves]) for row in range(counts.pop()))


def _digest(values: Sequence[Any]) -> bytes:
    found = blake2b(digest_size=_DIGEST_BYTES)
    for value in values:
        array = np.asarray(value)
        text = array.dtype.kind in _TEXT_KINDS
        data = repr(array.tolist()).encode("utf-8", "surrogatepass") if text else array.tobytes()
        found.update(f"{array.dtype.kind} {array.shape} {len(data)} ".encode())
        found.update(data)
    return found.digest()
