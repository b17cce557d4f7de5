"""Whether rows of both runs are of the same examples, and rows that the reference has elsewhere instead.

A replica function may take its examples of a larger array itself, in each step or in each turn of a loop. What enters
the step is then the same, and which examples it computes with is seen in the rows that it takes.
"""

from collections.abc import Sequence
from typing import final

import numpy as np

from simstrategy.check.causes.facts import BATCH_GROWS, OTHER_BATCHES, Finding, Host
from simstrategy.check.causes.row_order import DISTINCT_MIN, Place, counted
from simstrategy.check.causes.samples import is_same_data
from simstrategy.check.causes.scene import Scene
from simstrategy.check.causes.watching import NamedValue

__all__ = ["Rows", "of_other_rows"]


@final
class Rows:
    """Which numbers of rows of the replicas are known to be of the reference's examples.

    reference: all named values of the reference, of all steps.
    """

    def __init__(self, scene: Scene, reference: Sequence[NamedValue]) -> None:
        self._reference = reference
        self._known: set[tuple[int, ...]] = set()
        if is_same_data(scene) and scene.one.parts is not None:
            self._known.add(tuple(scene.one.parts))

    def agree(self, expected: Host, sizes: Sequence[int]) -> None:
        """Notes a value whose rows agree, where they are different ones.  sizes: of the parts of all replicas."""
        if len(counted(expected)) >= min(DISTINCT_MIN, len(expected)):
            self._known.add(tuple(sizes))

    def are_known(self, sizes: Sequence[int]) -> bool:
        """Returns whether parts of these sizes are of the reference's examples, one or several rows for each."""
        return any(_are_times(sizes, one) for one in self._known)

    def are_taken(self, place: Place) -> bool:
        """Returns whether a place has a part of another array."""
        return any(one.taken and (one.site, one.name) == (place.site, place.name) for one in self._reference)

    def ever(self, place: Place) -> set[bytes]:
        """Returns the rows of the shape and the dtype of a place that the reference ever has, or is given if known."""
        expected = place.expected
        known = [one for one in self._reference if one.given] or self._reference
        values = [one.value for one in known if one.value.dtype == expected.dtype and one.value.ndim]
        return {row for one in values if one.shape[1:] == expected.shape[1:] for row in counted(one)}


def _are_times(sizes: Sequence[int], known: Sequence[int]) -> bool:
    """Returns whether sizes are those that are known, all times one whole number."""
    if len(sizes) != len(known) or not sum(known) or sum(sizes) < sum(known):
        return False
    times = sum(sizes) // sum(known)
    return all(size == times * own for size, own in zip(sizes, known, strict=True))


def of_other_rows(place: Place, rows: Rows) -> Finding | None:
    """Recognises rows that the reference has at another time or in a larger array, and not in this place.

    Not where rows of as many examples agree before: these are other values of the same examples, such as draws.
    """
    expected, found = place.expected, place.found
    if expected.ndim == 0 or any(one.shape[1:] != expected.shape[1:] or not one.ndim for one in found):
        return None
    sizes = [len(one) for one in found]
    own, others = counted(expected), counted(np.concatenate(found))
    is_one_each = len(others) == sum(sizes) >= DISTINCT_MIN and own != others
    if not is_one_each or rows.are_known(sizes) or not set(others) <= rows.ever(place):
        return None
    if sum(sizes) == len(expected):
        reason = f"{place.what} has rows on the replicas that the reference has elsewhere, and not in this place"
        return Finding(OTHER_BATCHES, reason, "Take the rows of one batch on all replicas", source=place.site)
    if set(own) <= set(others) and sum(sizes) == len(found) * len(expected):
        reason = f"{place.what} has {sum(sizes)} rows on all replicas together, and {len(expected)} in the reference"
        remedy = "Take batches of one size, or divide the batch size by the number of replicas"
        return Finding(BATCH_GROWS, reason, remedy, source=place.site)
    return None
