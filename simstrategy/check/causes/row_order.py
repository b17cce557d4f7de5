"""Which rows of the reference's named values the replicas have: in order, in another one, twice, or not at all.

Rows are compared by their bytes. Where all rows of a value are different, each of them stands for one example.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from simstrategy.check.causes.facts import DRAWS, DUPLICATED, MISSING_SAMPLES, Finding, Host

__all__ = ["DISTINCT_MIN", "Order", "Place", "counted", "of_draws", "of_selection", "order_of"]

DISTINCT_MIN: Final = 3
"""The fewest different rows by which the rows of two runs are distinguished."""


class Place(NamedTuple):
    """One name at one line.  expected: the reference's value; found: one of each replica.

    drawn: whether random numbers enter it, where that is known.
    """

    site: str
    name: str
    expected: Host
    found: list[Host]
    drawn: bool | None = None

    @property
    def what(self) -> str:
        return f"{self.name} at {self.site}"


class Order(NamedTuple):
    """indices: of each replica the numbers of the reference's rows that its rows are, [rows] integers."""

    indices: tuple[Host, ...]

    def split(self, expected: Host, sizes: Sequence[int]) -> list[Host] | None:
        """Returns the reference's rows for each replica; None for a value that has no row for each of these."""
        if [len(one) for one in self.indices] != list(sizes) or len(expected) != sum(sizes):
            return None
        return [expected[one] for one in self.indices]


def counted(array: Host) -> Counter[bytes]:
    """Returns how often each row is there."""
    return Counter(np.ascontiguousarray(row).tobytes() for row in array)


def order_of(place: Place) -> Order | None:
    """Returns where the replicas' rows are in the reference's value; None unless both have the same, all different."""
    numbers = {np.ascontiguousarray(row).tobytes(): number for number, row in enumerate(place.expected)}
    if len(numbers) < max(DISTINCT_MIN, len(place.expected)):
        return None
    found = [[numbers.get(np.ascontiguousarray(row).tobytes()) for row in one] for one in place.found]
    known = [number for one in found for number in one if number is not None]
    if sorted(known) != list(range(len(numbers))) or len(known) != sum(map(len, found)):
        return None
    return Order(tuple([np.asarray(one, np.int64) for one in found]))


def of_selection(place: Place, examples: Sequence[Counter[bytes]]) -> Finding | None:
    """Recognises rows that are taken from the step's examples: some of them twice, or some of them never.

    examples: the rows of values that both runs have alike, all of them different.
    """
    rows, others = counted(place.expected), counted(np.concatenate(place.found))
    whole = next((one for one in examples if set(rows) | set(others) <= set(one)), None)
    if whole is None or rows == others:
        return None
    again, lost = others - rows, rows - others
    twice = max(others.values()) > 1
    if again and not lost and twice and set(others) == set(whole):
        count = sum(again.values())
        reason = f"{count} of the rows of {place.what} are there more than once, and once in the reference"
        return Finding(DUPLICATED, reason, "Count each example once", source=place.site)
    if lost and not again and set(others) == set(whole) and min(rows.values()) > 1:
        reason = f"with one replica every row of {place.what} is there more than once, and with several some are not"
        return Finding(DUPLICATED, reason, "Count each example once", source=place.site)
    if twice or max(rows.values()) > 1 or set(others) == set(whole):
        return None
    if any(_is_no_slice(one, whole) for one in (place.expected, *place.found)):
        return None  # rows that are drawn at random are missing, too
    absent = len(set(whole) - set(others))
    reason = f"{absent} of the {len(whole)} examples have no row in {place.what} on any replica"
    if again:
        reason += ", and the reference leaves out other ones"
    return Finding(MISSING_SAMPLES, reason, "Distribute all examples", source=place.site)


def of_draws(place: Place, reason: str, remedy: str, also: tuple[str, ...] = ()) -> Finding:
    """Returns draws for a value that replicas have otherwise, where random numbers may enter it; else no kind."""
    if place.drawn is False:
        return Finding(None, f"{reason}; no random numbers enter it", source=place.site)
    return Finding(DRAWS, reason, remedy, source=place.site, also=also)


def _is_no_slice(value: Host, whole: Counter[bytes]) -> bool:
    """Returns whether the rows are not in even steps through the examples."""
    numbers = {row: number for number, row in enumerate(whole)}
    steps = np.diff([numbers[np.ascontiguousarray(row).tobytes()] for row in value])
    return len(set(steps.tolist())) > 1
