"""Finds the first value inside the replica functions that the replicas compute otherwise than the reference.

Values with a row for each example are put end to end and compared with the reference's: rows that come twice or are
missing, rows that are shifted and scaled by numbers of each replica, rows that follow from other draws.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from simstrategy.check.causes.combination import whole
from simstrategy.check.causes.companions import is_line, is_moved
from simstrategy.check.causes.facts import CLIPPING, DRAWS, DUPLICATED, MISSING_SAMPLES, STATISTICS, Finding, Host
from simstrategy.check.causes.rounding import wide
from simstrategy.check.causes.samples import is_same_data
from simstrategy.check.causes.scene import Scene
from simstrategy.check.causes.watching import NamedValue

__all__ = ["Named", "by_names"]

_NEAR: Final = 1e-4
"""How far rows may be apart, relatively: they were computed from a state that rounding has moved."""
_NORM_NEAR: Final = 1e-5
"""How near norms have to be that were scaled to one bound, relatively."""
_DISTINCT_MIN: Final = 3
"""The fewest different rows by which the rows of two runs are distinguished."""
_TWICE: Final = 2


class Named(NamedTuple):
    """The named values of both runs."""

    reference: Sequence[NamedValue]
    other: Sequence[NamedValue]


class _Place(NamedTuple):
    """One name at one line.  expected: the reference's value; found: one of each replica."""

    site: str
    name: str
    expected: Host
    found: list[Host]

    @property
    def what(self) -> str:
        return f"{self.name} at {self.site}"


def by_names(scene: Scene, named: Named) -> Finding | None:
    """Returns what the first value shows that the replicas compute otherwise; None where there is none."""
    places = list(_places(scene, named))
    if whole(scene.one):
        return _all_the_same(scene, places)
    unclear: _Place | None = None
    for place in places:
        if len(place.found[0].shape) != len(place.expected.shape):
            continue
        finding, decided = _rows(scene, place)
        if finding is not None:
            return finding
        if decided:
            unclear = place
            break
    finding = _numbers(places)
    if finding is None and unclear is not None:
        reason = f"the first value in the replica functions that differs for the same examples is {unclear.what}"
        return Finding(None, reason, source=unclear.site)
    return finding


def _places(scene: Scene, named: Named) -> Iterator[_Place]:
    """Yields the values of the step before the point, in the order of the reference."""
    one = scene.one
    if one.counts[0] != 1:
        return
    expected = _by_place(named.reference, one.reference.step, one.reference.number)
    found = _by_place(named.other, one.other.step, one.other.number)
    often = [Counter((site, name, rank) for site, name, rank, _ in values) for values in (expected, found)]
    for (site, name, replica, time), value in expected.items():
        if any(often[1][site, name, rank] != often[0][site, name, replica] for rank in range(one.replicas)):
            continue  # a loop over something else, such as over the parts: its turns do not correspond
        others = [found.get((site, name, rank, time)) for rank in range(one.replicas)]
        known = [other for other in others if other is not None]
        if replica == 0 and len(known) == one.replicas:
            yield _Place(site, name, value, known)


def _by_place(values: Sequence[NamedValue], step: int, number: int) -> dict[tuple[str, str, int, int], Host]:
    times: Counter[tuple[str, str, int]] = Counter()
    found = {}
    for one in values:
        if one.step == step and (number < 0 or one.number <= number):
            key = (one.site, one.name, one.replica)
            times[key] += 1
            found[(*key, times[key])] = one.value
    return found


def _rows(scene: Scene, place: _Place) -> tuple[Finding | None, bool]:
    """Compares one value row by row; returns what it shows, and whether the search ends here."""
    expected, found = place.expected, place.found
    if expected.ndim == 0 or any(one.ndim == 0 or one.shape[1:] != expected.shape[1:] for one in found):
        return None, False
    together = np.concatenate(found, dtype=expected.dtype, casting="unsafe")
    sizes = [len(one) for one in found]
    if sizes == [len(expected)] * len(found) or expected.dtype.kind != together.dtype.kind:
        return None, False
    if len(together) == len(expected) and _near(expected, together):
        return None, False
    rows, others = _counted(expected), _counted(together)
    cut = len(together) < len(expected) and not others - rows
    if len(rows) >= _DISTINCT_MIN and set(others) <= set(rows) and (cut or not is_same_data(scene)):
        return _of_samples(place, rows, others), True
    if len(together) != len(expected):
        return None, True
    return _of_values(scene, place, sizes), True


def _near(expected: Host, found: Host) -> bool:
    left, right = wide(expected), wide(found)
    size = float(np.abs(left[np.isfinite(left)]).max(initial=0))
    with np.errstate(all="ignore"):
        return bool(np.array_equal(left, right, equal_nan=True) or np.abs(left - right).max() <= _NEAR * size)


def _counted(array: Host) -> Counter[bytes]:
    return Counter(np.ascontiguousarray(row).tobytes() for row in array)


def _of_samples(place: _Place, rows: Counter[bytes], others: Counter[bytes]) -> Finding | None:
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


def _of_values(scene: Scene, place: _Place, sizes: list[int]) -> Finding | None:
    starts = np.cumsum([0, *sizes])
    expected = [place.expected[start : start + size] for start, size in zip(starts, sizes, strict=False)]
    pairs = [(wide(one), wide(other)) for one, other in zip(expected, place.found, strict=True)]
    bound = _bound(pairs) if place.expected.dtype.kind == "f" else None
    if bound is not None:
        reason = f"on several replicas {place.what} is clipped, or scaled, to a norm of {bound:.6g}"
        return Finding(CLIPPING, reason, "Combine the replicas' values first, and clip the result", source=place.site)
    if place.expected.dtype.kind == "f" and is_moved(pairs):
        reason = (
            f"on each replica {place.what} is the reference's value, shifted and scaled by numbers of that replica: it "
            f"depends on the other examples there"
        )
        return Finding(STATISTICS, reason, "Reduce the statistics over all replicas first", source=place.site)
    same = [_near(one, other) for one, other in pairs if len(one)]
    shortest = min(size for size in sizes if size)
    first = place.found[0][:shortest]
    stream = len(_counted(first)) > 1 and all(np.array_equal(first, one[:shortest]) for one in place.found if len(one))
    if stream:
        reason = f"{place.what} has the same values on all replicas, though their examples are others"
    elif len(same) > 1 and same[0] and not all(same) and not is_line(*pairs[same.index(False)]):
        reason = f"{place.what} has the reference's values on replica 0, and others on replica {same.index(False)}"
    else:
        return None
    return Finding(DRAWS, reason, "Draw for each example, or for the whole batch", source=place.site)


def _bound(pairs: Sequence[tuple[Host, Host]]) -> float | None:
    """Returns the largest norm of the replicas' arrays, if two of different values have it and none are counts.

    pairs: of each replica the reference's rows and its own, which have to be multiples of them.
    """
    parts = [part for _, part in pairs]
    for expected, part in pairs:
        size = float(np.sum(expected * expected))
        if size and not _near(part, expected * (float(np.sum(expected * part)) / size)):
            return None
    norms = [float(np.linalg.norm(part)) for part in parts]
    largest = max(norms)
    if not np.isfinite(norms).all() or not largest or any((part == np.round(part)).all() for part in parts):
        return None
    reached = [part for part, norm in zip(parts, norms, strict=True) if largest - norm <= _NORM_NEAR * largest]
    return largest if any(not np.array_equal(reached[0], one) for one in reached[1:]) else None


def _numbers(places: Sequence[_Place]) -> Finding | None:
    """Recognises draws without rows: replica 0 has the reference's bits, and others have other ones."""
    for place in places:
        expected = place.expected
        if expected.dtype.kind != "f" or any(one.shape != expected.shape for one in place.found):
            continue
        same = [np.array_equal(expected, one) for one in place.found]
        if same[0] and not any(same[1:]) and (wide(expected) * 64 % 1).any():
            reason = f"{place.what} has the reference's value on replica 0, and another one on replica 1"
            if expected.size > 1:
                return Finding(DRAWS, reason, "Draw once for all replicas", source=place.site)
            return Finding(None, reason, source=place.site)  # a count, a rate or a draw: one number does not show it
    return None


def _all_the_same(scene: Scene, places: Sequence[_Place]) -> Finding | None:
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
