"""Recognises values that are the reference's in another order, or along another axis, and rows that come again."""

from collections import Counter

import numpy as np

from simstrategy.check.causes.facts import DUPLICATED, MISSING_SAMPLES, ORDER, Finding, Host
from simstrategy.check.causes.rounding import alike
from simstrategy.check.causes.scene import Scene

__all__ = ["by_order"]

_DISTINCT_MIN = 3
"""The fewest different elements of an array whose order means something."""


def by_order(scene: Scene) -> Finding | None:
    """Compares the elements and the rows of the one leaf that differs, without regard to their places."""
    one = scene.one
    pairs = [
        (expected, found)
        for expected, found in zip(one.expected, one.found, strict=False)
        if expected.shape != found.shape or not alike(expected, found, 0.0)
    ]
    findings = [_leaf(expected, found) for expected, found in pairs]
    return findings[0] if findings and all(finding == findings[0] for finding in findings) else None


def _leaf(expected: Host, found: Host) -> Finding | None:
    if expected.dtype.kind not in "iuf" or found.dtype.kind not in "iuf" or np.unique(expected).size < _DISTINCT_MIN:
        return None
    if expected.size == found.size and np.array_equal(np.sort(expected, axis=None), np.sort(found, axis=None)):
        where = "in another order"
        if expected.shape != found.shape:
            where = f"along another axis: {list(found.shape)} in place of {list(expected.shape)}"
        return Finding(ORDER, f"the elements are the reference's, {where}")
    same_rows = (
        expected.ndim == found.ndim > 0 and expected.shape[1:] == found.shape[1:] and expected.shape != found.shape
    )
    return _by_rows(expected, found) if same_rows else None


def _by_rows(expected: Host, found: Host) -> Finding | None:
    rows, others = _rows(expected), _rows(found)
    again, lost = others - rows, rows - others
    if len(rows) < _DISTINCT_MIN or (again and lost) or not set(again) <= set(rows):
        return None
    if again:
        return Finding(DUPLICATED, f"{sum(again.values())} of its {len(found)} rows are there more than once")
    return Finding(MISSING_SAMPLES, f"{sum(lost.values())} of the reference's {len(expected)} rows are missing")


def _rows(array: Host) -> Counter[bytes]:
    return Counter(np.ascontiguousarray(row).tobytes() for row in array)
