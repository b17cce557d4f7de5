"""Finds the first value inside the replica functions that the replicas compute otherwise than the reference.

Values with a row for each example are put end to end and compared with the reference's: rows that come twice or are
missing, rows that are shifted and scaled by numbers of each replica, rows that follow from other draws.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, final

import numpy as np

from simstrategy.check.causes.changed import by_changed
from simstrategy.check.causes.combination import whole
from simstrategy.check.causes.facts import DUPLICATED, MISSING_SAMPLES, STATISTICS, Finding, Host
from simstrategy.check.causes.other_rows import Rows, of_other_rows
from simstrategy.check.causes.own_numbers import first_uncombined, own_number
from simstrategy.check.causes.rounding import allowed, wide
from simstrategy.check.causes.row_order import DISTINCT_MIN, Order, Place, counted, of_draws, of_selection, order_of
from simstrategy.check.causes.row_values import is_of_means, near, of_values
from simstrategy.check.causes.samples import is_same_data
from simstrategy.check.causes.scene import Scene
from simstrategy.check.causes.watching import NamedValue, drawn_in
from simstrategy.check.causes.weights import by_divisors

__all__ = ["Named", "by_names", "with_place"]

_TWICE: Final = 2


class Named(NamedTuple):
    """The named values of both runs."""

    reference: Sequence[NamedValue]
    other: Sequence[NamedValue]


def by_names(scene: Scene, named: Named) -> Finding | None:
    """Returns what the first value shows that the replicas compute otherwise; None where there is none."""
    places = list(_places(scene, named))
    if whole(scene.one):
        return _all_the_same(scene, places)
    divided = by_divisors(scene.one, [(place.what, place.site, place.found) for place in places])
    if divided is not None:
        return divided
    changed = by_changed(scene.one, places)
    if changed is not None:
        return changed
    unclear: Place | None = None
    search = _Search(scene, named.reference)
    for number, place in enumerate(places):
        if len(place.found[0].shape) != len(place.expected.shape):
            continue
        finding, decided = search.look(place)
        known = decided and search.rows.are_known([len(one) for one in place.found])
        if known and (finding is None or STATISTICS in finding.also):
            own = own_number(place, places[:number])
            finding = finding if own is None else own
        if finding is not None:
            return finding
        if decided:
            unclear = place
            break
    finding = _numbers(places)
    if finding is None and unclear is not None:
        same = " for the same examples" if known else ""
        reason = f"the first recorded value in the replica functions that differs{same} is {unclear.what}"
        return Finding(None, reason, source=unclear.site)
    return finding or first_uncombined(places)


def with_place(finding: Finding, scene: Scene, named: Named) -> Finding:
    """Returns the finding of a term that every replica adds, with the name and the line that have it.

    On every replica, and in the reference, the name holds what the sum has too much, divided by the replicas that it
    has more than the reference.
    """
    one = scene.one
    more = one.counts[1] - one.counts[0]
    terms = [(wide(new) - wide(old)) / more for old, new in zip(one.expected, one.found, strict=True)]
    for place in _places(scene, named):
        for number, term in enumerate(terms):
            held = [wide(value) for value in (place.expected, *place.found) if value.dtype.kind == "f"]
            bound = allowed(one.units[number], one.expected[number]) * float(np.abs(wide(one.expected[number])).max())
            if len(held) > one.replicas and all(
                value.shape == term.shape and np.abs(value - term).max(initial=0) <= bound for value in held
            ):
                return finding._replace(reason=f"{finding.reason}. {place.what} is this term", source=place.site)
    return finding


def _places(scene: Scene, named: Named) -> Iterator[Place]:
    """Yields the values of the step before the point, in the order of the reference; none beside one replica alone."""
    one = scene.one
    if one.counts[0] != 1 or one.replicas == 1:
        return
    # A run is numbered when it begins, and its values come after.
    ends = [-1 if point.what == "run" else point.number for point in (one.reference, one.other)]
    expected = _by_place(named.reference, one.reference.step, ends[0])
    drawn = drawn_in(named.reference)
    found = _by_place(named.other, one.other.step, ends[1])
    often = [Counter((site, name, rank) for site, name, rank, _ in values) for values in (expected, found)]
    for (site, name, replica, time), value in expected.items():
        if any(often[1][site, name, rank] != often[0][site, name, replica] for rank in range(one.replicas)):
            continue  # a loop over something else, such as over the parts: its turns do not correspond
        others = [found.get((site, name, rank, time)) for rank in range(one.replicas)]
        known = [other for other in others if other is not None]
        if replica == 0 and len(known) == one.replicas:
            yield Place(site, name, value, known, drawn[site, name])


def _by_place(values: Sequence[NamedValue], step: int, number: int) -> dict[tuple[str, str, int, int], Host]:
    times: Counter[tuple[str, str, int]] = Counter()
    found = {}
    for one in values:
        if one.step == step and (number < 0 or one.number <= number):
            key = (one.site, one.name, one.replica)
            times[key] += 1
            found[(*key, times[key])] = one.value
    return found


@final
class _Search:
    """Goes through the values of a step in order, and keeps which examples the rows of each replica are.

    rows: the rows of both runs that are known to be of the same examples.
    """

    def __init__(self, scene: Scene, reference: Sequence[NamedValue]) -> None:
        self._scene = scene
        self.rows = Rows(scene, reference)
        self._order: Order | None = None
        self._examples: list[Counter[bytes]] = []
        self._before: dict[str, Place] = {}

    def look(self, place: Place) -> tuple[Finding | None, bool]:
        """Compares one value row by row; returns what it shows, and whether the search ends here."""
        if not _has_rows(place):
            grown = of_other_rows(place, self.rows)
            return grown, bool(grown)
        expected, found = place.expected, place.found
        together = np.concatenate(found, dtype=expected.dtype, casting="unsafe")
        sizes = [len(one) for one in found]
        before = self._before.get(place.name)
        self._before[place.name] = place
        pairs = self._pairs(place, sizes)
        order = order_of(place)
        if order is not None:
            self._order = order
            self._examples.append(counted(expected))
        if order is not None or (pairs is not None and all(near(one, other) for one, other in pairs)):
            self.rows.agree(expected, sizes)
            return None, False
        rows, others = counted(expected), counted(together)
        if len(rows) >= DISTINCT_MIN:
            selected = of_other_rows(place, self.rows) or of_selection(place, self._examples)
            if selected is not None:
                return selected, True
            cut = len(together) < len(expected) and not others - rows
            if set(others) <= set(rows) and (cut or not is_same_data(self._scene)):
                return _of_samples(place, rows, others), rows != others
        taken = self.rows.are_taken(place)
        if pairs is None or taken or is_of_means(expected, pairs):
            return None, pairs is None and not taken
        return of_values(place, pairs, before, known=self.rows.are_known(sizes)), True

    def _pairs(self, place: Place, sizes: list[int]) -> list[tuple[Host, Host]] | None:
        """Returns the reference's rows for the examples of each replica, and its own; None without a row for each."""
        if sum(sizes) != len(place.expected):
            return None
        starts = np.cumsum([0, *sizes])
        known = None if self._order is None else self._order.split(place.expected, sizes)
        known = known or [place.expected[start : start + size] for start, size in zip(starts, sizes, strict=False)]
        return list(zip(known, place.found, strict=True))


def _has_rows(place: Place) -> bool:
    """Returns whether a value has rows that the replicas share out, as far as its shapes show."""
    expected, found = place.expected, place.found
    if expected.ndim == 0 or any(one.ndim == 0 or one.shape[1:] != expected.shape[1:] for one in found):
        return False
    if any(one.dtype.kind != expected.dtype.kind for one in found):
        return False
    return any(len(one) != len(expected) for one in found)


def _of_samples(place: Place, rows: Counter[bytes], others: Counter[bytes]) -> Finding | None:
    again, lost = sum((others - rows).values()), sum((rows - others).values())
    if again:
        reason = f"{again} of the rows of {place.what} are on more than one replica"
        reason += f", and {lost} are on none" if lost else ""
        return Finding(DUPLICATED, reason, "Give each replica a part of its own", source=place.site)
    present = [row for row in rows if row in others]
    if lost and any(others[row] < rows[row] for row in present):
        # Rows that are still there are not lost: the reference may have them more than once itself.
        if len(present) < len(rows) or min(rows.values()) < _TWICE:
            return None
        reason = f"with one replica every row of {place.what} is there more than once, and with several some are not"
        return Finding(DUPLICATED, reason, "Count each example once", source=place.site)
    if lost:
        reason = f"{lost} of the {len(place.expected)} rows of {place.what} are on no replica"
        return Finding(MISSING_SAMPLES, reason, "Distribute all examples", source=place.site)
    return None  # the same rows in another order


def _numbers(places: Sequence[Place]) -> Finding | None:
    """Recognises draws without rows: replica 0 has the reference's bits, and others have other ones."""
    for place in places:
        expected = place.expected
        if expected.dtype.kind != "f" or any(one.shape != expected.shape for one in place.found):
            continue
        same = [np.array_equal(expected, one) for one in place.found]
        if same[0] and not any(same[1:]) and (wide(expected) * 64 % 1).any():
            reason = f"{place.what} has the reference's value on replica 0, and another one on replica 1"
            if expected.size > 1 or place.drawn is False:
                return of_draws(place, reason, "Draw once for all replicas")
            return Finding(None, reason, source=place.site)  # a count, a rate or a draw: one number does not show it
    return None


def _all_the_same(scene: Scene, places: Sequence[Place]) -> Finding | None:
    """Recognises that all replicas work on the same examples: on arrays that are larger than what they contribute."""
    if scene.one.parts is not None or scene.has_earlier_point():
        return None
    if any(one.shape != place.expected.shape for place in places for one in place.found):
        return None  # a later statement has a part of them
    size = max(leaf.size for leaf in scene.one.expected)
    for place in places:
        if place.expected.size > size and all(np.array_equal(place.expected, one) for one in place.found):
            times = len(place.found)
            reason = f"every replica has all {len(place.expected)} rows of {place.what}, so each counts {times} times"
            return Finding(DUPLICATED, reason, "Give each replica a part of its own", source=place.site)
    return None
