"""Measures how far rounding moves what points combine: the distance of a run and its nudged runs."""

from collections.abc import Sequence

import numpy as np

from simstrategy.check.causes.facts import PointFacts
from simstrategy.check.causes.rounding import unit_of
from simstrategy.check.distances import distances

__all__ = ["units_of"]


def units_of(facts: Sequence[PointFacts], nudged: Sequence[Sequence[PointFacts]]) -> list[tuple[float, ...]]:
    """Returns how far each output moves between a run and its nudged runs, relative to its largest element."""
    alike = [
        other
        for other in nudged
        if [(one.site, one.what, one.step) for one in other] == [(one.site, one.what, one.step) for one in facts]
    ]
    found: list[tuple[float, ...]] = []
    for number, point in enumerate(facts):
        row = []
        for leaf, value in enumerate(point.outputs):
            moved = [0.0]
            for other in alike:
                outputs = other[number].outputs
                if leaf < len(outputs) and outputs[leaf].shape == value.shape and outputs[leaf].dtype == value.dtype:
                    moved.append(distances(value, outputs[leaf])[0])
            row.append(max([unit_of(value), *[one for one in moved if np.isfinite(one)]]))
        found.append(tuple(row))
    return found
