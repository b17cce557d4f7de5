"""Decides whether a value that the program keeps was computed from what a point combined, by both runs' values.

Such a value is equal to the combined one, or a multiple of it, or changes in proportion to it, in both runs alike.
"""

from enum import IntEnum
from typing import Final

import numpy as np

from simstrategy.check.causes.alignment import Pair
from simstrategy.check.causes.facts import Host, PointFacts
from simstrategy.check.causes.rounding import unit_of, wide
from simstrategy.check.compare import MARGIN

__all__ = ["Link", "link"]

_ULPS: Final = 64
"""Ulps by which a kept value may miss the multiple of a combined one that it was computed from."""


class Link(IntEnum):
    """How a kept value follows from a combined one; a later member is stronger evidence than an earlier one."""

    NONE = 0
    CHANGE = 1
    MULTIPLE = 2
    EQUAL = 3


def link(kept: Pair, pair: Pair, scale: float, *, bare: bool = False) -> Link:
    """Returns how a kept value follows from a point's values, those of the other run times the scale.

    bare: whether axes of size 1 do not count, which a program adds and drops.
    """
    assert kept.one is not None
    assert pair.one is not None
    near = _ULPS * max([unit_of(leaf) for leaf in (*kept.one.expected, *pair.one.expected)], default=0.0)
    near = max([near, *[MARGIN * unit for unit in (*kept.one.units, *pair.one.units)]])
    best = Link.NONE
    for old, new in zip(_changes(kept.one.reference), _changes(kept.one.other), strict=False):
        for expected, found in zip(pair.one.expected, pair.one.found, strict=False):
            if old.dtype.kind in "fiub" and expected.dtype.kind in "fiub":
                values = [wide(old), wide(new), wide(expected), wide(found) * scale]
                values = [np.squeeze(one) for one in values] if bare else values
                best = max(best, _link(values[0], values[1], values[2], values[3], near))
    return best


def _changes(point: PointFacts) -> tuple[Host, ...]:
    """Returns the kept values; of an assignment, by how much it changes the variable."""
    if point.what not in ("assign", "run") or [leaf.shape for leaf in point.before] != [
        leaf.shape for leaf in point.outputs
    ]:
        return point.outputs
    return tuple([wide(after) - wide(before) for after, before in zip(point.outputs, point.before, strict=True)])


def _link(kept: Host, changed: Host, expected: Host, found: Host, near: float) -> Link:
    if (kept.shape, changed.shape) == (expected.shape, found.shape) and kept.shape != changed.shape:
        return Link.EQUAL if np.array_equal(kept, expected) and np.array_equal(changed, found) else Link.NONE
    comparable = found.shape == expected.shape and changed.shape == kept.shape
    if not (comparable and np.isfinite(kept).all() and np.isfinite(expected).all()):
        return Link.NONE
    if not (np.isfinite(found).all() and np.isfinite(changed).all()):
        same = kept.shape == expected.shape and np.array_equal(np.isfinite(found), np.isfinite(changed))
        return Link.MULTIPLE if same else Link.NONE
    if kept.shape == expected.shape:
        return _of_same_shape(kept, changed, expected, found, near)
    if kept.ndim and kept.shape[1:] == expected.shape:
        # A history: one row for each step, of which the first that differs counts.
        rows = [row for row in range(len(kept)) if not _near(kept[row], changed[row], near)]
        if rows and _near(kept[rows[0]], expected, near) and _near(changed[rows[0]], found, near):
            return Link.EQUAL
    return Link.NONE


def _of_same_shape(kept: Host, changed: Host, expected: Host, found: Host, near: float) -> Link:
    if _near(kept, expected, near) and _near(changed, found, near):
        return Link.EQUAL
    size = float(np.sum(expected * expected))
    k = float(np.sum(expected * kept)) / size if size else 0.0
    if k and _near(kept, expected * k, near) and _near(changed, found * k, near):
        return Link.MULTIPLE
    if k and _near(kept, expected * k, near) and _is_multiple(changed, found, near):
        return Link.NONE  # by another number than the reference's: something else has changed it as well
    return Link.CHANGE if _is_change(kept, changed, expected, found, near) else Link.NONE


def _is_multiple(one: Host, other: Host, near: float) -> bool:
    size = float(np.sum(other * other))
    return bool(size) and _near(one, other * (float(np.sum(one * other)) / size), near)


def _near(one: Host, other: Host, near: float) -> bool:
    return bool(np.abs(one - other).max(initial=0) <= near * max(np.abs(one).max(initial=0), 1e-300))


def _is_change(kept: Host, changed: Host, expected: Host, found: Host, near: float) -> bool:
    """Returns whether the kept value changes by one number times the change of the point's values."""
    change, moved = found - expected, changed - kept
    size = float(np.sum(change * change))
    if kept.size < 2 or not size:
        return False
    k = float(np.sum(change * moved)) / size
    error = near * (np.abs(kept).max() + abs(k) * np.abs(expected).max())
    return bool(k) and bool(np.abs(moved - change * k).max() <= error < np.abs(moved).max() * 0.1)
