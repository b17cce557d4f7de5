"""Recognises steps whose examples are not those of the reference: duplicates, missing ones, other batches."""

from collections import Counter
from typing import Final

import numpy as np

from simstrategy.check.causes.combination import whole
from simstrategy.check.causes.facts import (
    BATCH_GROWS,
    DUPLICATED,
    MISSING_SAMPLES,
    OTHER_BATCHES,
    Finding,
    Host,
    Leaves,
    PointFacts,
)
from simstrategy.check.causes.rounding import alike, wide
from simstrategy.check.causes.row_order import DISTINCT_MIN, counted
from simstrategy.check.causes.scene import Scene

__all__ = ["by_grown_arrays", "by_rows", "by_sizes", "equal_terms", "is_same_data"]

_SIZE_NEAR: Final = 1e-5
"""How near the sizes of elements have to be to be one, relatively."""


def _rows(point: PointFacts) -> Counter[str] | None:
    return None if point.rows is None else Counter(row for part in point.rows for row in part)


def is_same_data(scene: Scene) -> bool | None:
    """Returns whether both runs have the same examples in this step; None where that was not recorded."""
    expected, found = _rows(scene.one.reference), _rows(scene.one.other)
    return None if expected is None or found is None else expected == found


def by_rows(scene: Scene) -> Finding | None:
    """Compares the examples of the step one by one, where both runs have recorded them."""
    expected, found = _rows(scene.one.reference), _rows(scene.one.other)
    if expected is None or found is None or not found or expected == found:
        return None
    again, lost = found - expected, expected - found
    if again and not set(again) <= set(expected):
        return _of_other_steps(scene, found, lost, sum(expected.values()))
    if again:
        both = [rank for rank, part in enumerate(scene.one.other.rows or ()) if set(part) & set(again)]
        who = f"replicas {', '.join(map(str, both))}" if len(both) > 1 else f"replica {both[0]}"
        count = sum(again.values())
        reason = f"{_examples(count)} of the step count more than once, on {who}"
        if lost:
            reason += f", and {_examples(sum(lost.values()))} are missing"
        return Finding(DUPLICATED, reason, "Give each replica a part of its own", by_parts=True)
    return Finding(
        MISSING_SAMPLES,
        f"{_examples(sum(lost.values()))} of the reference are on no replica: {_sizes(scene)}",
        "",
        True,
    )


def _of_other_steps(scene: Scene, found: Counter[str], lost: Counter[str], count: int) -> Finding | None:
    """Describes a step with examples of other steps of the reference.

    found, lost: its examples, and those of the reference's step that it lacks. count: of the reference's step.
    """
    seen = Counter(row for point in _steps(scene) for part in point.rows or () for row in part)
    if not set(found) <= set(seen):
        return None  # rows that the reference never has: other data, or changed data
    if scene.one.other.added:
        return None  # what replicas add up may be cut into other steps
    if not lost and sum(found.values()) == round(scene.one.ratio * count) and _is_once(found, seen):
        return _grows(scene, "its batch has the examples of several of the reference's steps")
    return Finding(OTHER_BATCHES, f"its batch has other examples than in the reference: {_sizes(scene)}")


def _is_once(found: Counter[str], seen: Counter[str]) -> bool:
    """Returns whether no example is there more often than in all steps of the reference."""
    return all(times <= seen[row] for row, times in found.items())


def _grows(scene: Scene, reason: str) -> Finding:
    remedy = "Distribute batches of one size, or divide the batch size by the number of replicas"
    where = scene.one.other.data
    at = f", of the data distributed at {where}" if where else ""
    return Finding(BATCH_GROWS, f"{reason}: {_sizes(scene)}{at}", remedy, by_parts=True, source=where or None)


def _steps(scene: Scene) -> list[PointFacts]:
    """Returns one point of each step of the reference, whose rows are those of the step."""
    return list({point.step: point for point in scene.reference if point.rows is not None}.values())


def _examples(count: int) -> str:
    return "1 example" if count == 1 else f"{count} examples"


def _sizes(scene: Scene) -> str:
    expected, found = scene.one.reference.parts or (), scene.one.other.parts or ()
    return f"{sum(found)} examples, and {sum(expected)} in the reference"


def by_sizes(scene: Scene) -> Finding | None:
    """Compares the numbers of examples of the step, where the examples themselves are not recorded."""
    one = scene.one
    expected, found = one.reference.parts, one.other.parts
    if expected is None or found is None or sum(expected) == sum(found) or is_same_data(scene) is not None:
        return None
    if sum(found) < sum(expected) and _all_examples(scene.other) < _all_examples(scene.reference):
        lost = sum(expected) - sum(found)
        return Finding(MISSING_SAMPLES, f"{_examples(lost)} are on no replica: {_sizes(scene)}", "", by_parts=True)
    if sum(found) != round(one.ratio * sum(expected)):
        return None
    if whole(one):
        reason = f"every replica has all examples of the step, so each one counts {one.replicas} times: {_sizes(scene)}"
        return Finding(DUPLICATED, reason, "Give each replica a part of its own", by_parts=True)
    if one.differ_among_replicas and not one.other.added:
        return _grows(scene, "every replica takes a batch as large as the reference's, so the steps are others")
    return None


def by_grown_arrays(scene: Scene) -> Finding | None:
    """Recognises a batch that grows in the whole arrays of lines, where no examples are recorded.

    The first array of the step that has more rows than in the reference has that many times as many, along one axis,
    and begins with the reference's.
    """
    if scene.one.ratio <= 1 or scene.one.other.parts is not None or scene.one.other.inputs:
        return None
    for whole_array, grown in scene.lines_before():
        if whole_array.shape == grown.shape:
            continue
        axes = _unequal_axes(whole_array, grown)
        if len(axes) != 1:
            return None
        expected, found = np.moveaxis(whole_array, axes[0], 0), np.moveaxis(grown, axes[0], 0)
        rows = len(expected)
        if rows < DISTINCT_MIN or len(found) != round(scene.one.ratio * rows):
            return None
        size = float(np.abs(wide(expected)).max(initial=0))
        near = float(np.abs(wide(expected) - wide(found[:rows])).max(initial=0)) <= _SIZE_NEAR * size
        if not near or len(counted(found)) < len(found):
            return None
        reason = f"its arrays have {len(found)} rows, of which the first {rows} are all that the reference has"
        remedy = "Take batches of one size, or divide the batch size by the number of devices"
        return Finding(BATCH_GROWS, reason, remedy)
    return None


def _unequal_axes(one: Host, other: Host) -> list[int]:
    """Returns the axes along which two arrays [...] have other lengths; none for arrays of other numbers of axes."""
    if one.ndim != other.ndim:
        return []
    return [axis for axis in range(one.ndim) if one.shape[axis] != other.shape[axis]]


def _all_examples(points: object) -> int:
    sizes = {point.step: sum(point.parts) for point in points if point.parts is not None}  # type: ignore[attr-defined]
    return sum(sizes.values())


def _is_one_size(leaves: Leaves) -> bool:
    """Returns whether all elements have one size: that of a bound, for example, which all replicas have alike."""
    sizes = np.abs(np.concatenate([wide(leaf).reshape(-1) for leaf in leaves]))
    return bool(sizes.size and sizes.max() - sizes.min() <= _SIZE_NEAR * sizes.max())


def equal_terms(scene: Scene) -> Finding | None:
    """Recognises two replicas that contribute the same bits, while others do not, or while no factor explains it.

    Values of different examples are not equal to the bit, unless they are round numbers, which are left out.
    """
    one = scene.one
    if is_same_data(scene) or not one.is_elementwise or one.replicas < 2 or one.other.own or one.other.kept:
        return None
    if one.rule is None or scene.are_meant or scene.has_earlier_point():
        return None
    same = [
        (first, second)
        for second in range(one.replicas)
        for first in range(second)
        if all(a.tobytes() == b.tobytes() for a, b in zip(one.terms[first], one.terms[second], strict=True))
        and any(leaf.dtype.kind == "f" and leaf.size > 1 and (leaf * 64 % 1).any() for leaf in one.terms[first])
    ]
    same = [pair for pair in same if not _is_one_size(one.terms[pair[0]])]
    if not same or any(alike(leaf, term, 0.0) for leaf, term in zip(one.expected, one.terms[0], strict=True)):
        return None
    first, second = same[0]
    reason = f"replicas {first} and {second} contribute the same bits, so they have the same examples"
    return Finding(DUPLICATED, reason, "Give each replica a part of its own", by_parts=True)
