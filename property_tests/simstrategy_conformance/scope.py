"""How a test of everything within a small scope is written: all combinations, of which a quick profile takes a share.

    @scope_test("B-7", combinations=lambda: itertools.product(PLACED, SHAPES))
    def test_a_cell(subject: Subject, placed: tuple[int, int], shape: tuple[int, ...]) -> None: ...

Mistakes show in small examples: one to three ranks, no axis to two, sizes from 0 to 2, and calls in every order of
up to three. How many combinations were tried, of how many, is noted in the report.
"""

import itertools
import zlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import numpy as np

from simstrategy_conformance.checking import Test, clause, of_subject
from simstrategy_conformance.subject import Subject
from simstrategy_conformance.tally import count, noted

__all__ = ["PLACED", "RANKS", "SHAPES", "numbers", "orders", "scope_test"]

Host = np.ndarray[Any, Any]
RANKS: Final = (1, 2, 3)
PLACED: Final = tuple((ranks, rank) for ranks in RANKS for rank in range(ranks))
"""Every number of ranks, with each of the ranks."""
SHAPES: Final = ((), *((size,) for size in range(3)), *itertools.product(range(3), repeat=2))
"""Every shape of no axis to two, of sizes 0 to 2."""


def orders(of: Sequence[Any], most: int = 3) -> tuple[tuple[Any, ...], ...]:
    """Returns every sequence of one to `most` items, each as often as may be.

    >>> orders("ab", 2)
    (('a',), ('b',), ('a', 'a'), ('a', 'b'), ('b', 'a'), ('b', 'b'))
    """
    return tuple(itertools.chain.from_iterable(itertools.product(of, repeat=count) for count in range(1, most + 1)))


def numbers(shape: tuple[int, ...], first: int = 0, dtype: str = "float32") -> Host:
    """Returns an array [...] of numbers that count up from `first`, all different."""
    count = int(np.prod(shape, dtype=np.int64))
    return (np.arange(count, dtype=np.int64) + first).astype(dtype).reshape(shape)


def scope_test(*identifiers: str, combinations: Callable[[], Iterable[tuple[Any, ...]]]) -> Callable[[Test], Test]:
    """Makes a test of a function that takes a subject and the parts of a combination."""

    def decorate(function: Test) -> Test:
        name = function.__name__

        def test(subject: Subject) -> None:
            every = list(combinations())
            tried = _share(every, subject)
            for one in tried:
                try:
                    function(subject, *one)
                except Exception as error:
                    error.add_note(f"A combination that fails: {one}")
                    raise
            count(name, len(tried))
            described = name.removeprefix("test_").replace("_", " ")
            noted[name] = [("tried", f"{described}: {len(tried):,} of {len(every):,} combinations in a small scope")]

        return clause(*identifiers)(of_subject(function, test))

    return decorate


def _share(every: list[tuple[Any, ...]], subject: Subject) -> list[tuple[Any, ...]]:
    """Returns the share of a profile, the same each time, in the given order: the smallest first."""
    most = min(max(32, round(len(every) * subject.profile.scope)), subject.profile.rows_max or len(every))
    chosen = sorted(range(len(every)), key=lambda place: zlib.crc32(repr(every[place]).encode()))[:most]
    return [every[place] for place in sorted(chosen)]
