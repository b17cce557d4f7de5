"""What the tests of this process have counted and found so far: filled by the tests, read by the reports.

It imports nothing: a session that leaves its tests to other processes reads their reports without what tests need.
"""

from typing import Final, NamedTuple

__all__ = ["Counted", "Covered", "count", "counted", "covered", "noted"]


class Counted(NamedTuple):
    """The examples of each test: their number, and the words for their constructs."""

    examples: dict[str, int]
    words: dict[str, dict[str, int]]


class Covered(NamedTuple):
    """What the rows of one test held.  fields: those with several levels.  triples: of `in_triples` alone."""

    rows: int
    fields: tuple[str, ...]
    pairs: tuple[int, int]
    in_triples: tuple[str, ...]
    triples: tuple[int, int]


counted: Final = Counted({}, {})
covered: Final[dict[str, Covered]] = {}
"""By test, where it passed and has rows."""
noted: Final[dict[str, list[tuple[str, str]]]] = {}
"""By test: what it has found that is no fault, each a kind and a text."""


def count(test: str, examples: int = 1) -> None:
    """Counts examples of a test."""
    counted.examples[test] = counted.examples.get(test, 0) + examples
