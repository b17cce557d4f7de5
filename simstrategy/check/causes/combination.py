"""One point of two runs as a combination: the replicas' terms, what they gave, and what the reference gave."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from simstrategy.check.causes.facts import Host, Leaves, PointFacts
from simstrategy.check.causes.rounding import alike, all_alike, allowed, total, unit_of, varies, wide

__all__ = ["Combination", "combine", "differing", "focused", "together", "whole"]

_WEIGHT_NEAR = 1e-3
"""How near a weight has to be to 1 or 1 / replicas; scales that earlier steps showed are rounded."""

_TERMS_ULPS = 4.0
"""Ulps of the largest term by which a sum that is computed again may be off: terms may cancel each other."""


class Combination(NamedTuple):
    """The values of one point.

    terms: of each replica its leaves [any shape], in rank order. expected, found: the combined leaves of the reference
    and of the other run, the latter times `scale`. units: of each leaf. counts: the numbers of replicas of both runs.
    scale: by what the program multiplies the combined values later.
    """

    reference: PointFacts
    other: PointFacts
    terms: tuple[Leaves, ...]
    expected: Leaves
    found: Leaves
    units: tuple[float, ...]
    counts: tuple[int, int]
    scale: float

    @property
    def replicas(self) -> int:
        return self.counts[1]

    @property
    def ratio(self) -> float:
        """The number of replicas, divided by the reference's."""
        return self.counts[1] / self.counts[0]

    @property
    def parts(self) -> tuple[int, ...] | None:
        return self.other.parts

    @property
    def shares(self) -> tuple[float, ...] | None:
        """Each replica's share of the examples; None where it is not known, or the runs have other examples."""
        parts, expected = self.other.parts, self.reference.parts
        if parts is None or len(parts) != self.replicas or not sum(parts):
            return None
        if expected is not None and sum(expected) != sum(parts):
            return None
        return tuple([part / sum(parts) for part in parts])

    @property
    def is_elementwise(self) -> bool:
        """Whether the terms have the shapes of what they gave, so that weights on them mean something."""
        shapes = [leaf.shape for leaf in self.expected]
        if not shapes or len(self.terms) != self.replicas:
            return False
        return all([leaf.shape for leaf in term] == shapes for term in self.terms)

    @property
    def differ_among_replicas(self) -> bool:
        return bool(self.terms) and varies(self.terms, self.units)

    @property
    def rule(self) -> str | None:
        """How the terms gave the found values, by the numbers and with the scale: "sum", "mean" or None."""
        if not all(np.isfinite(wide(leaf)).all() for leaf in self.found):
            return {"SUM": "sum", "MEAN": "mean"}.get(self.other.op or "")  # NaN is a sum of any NaN
        for weight in (self.scale, self.scale / self.replicas):
            if self.gives(self.found, [weight] * self.replicas):
                names = {"sum": 1.0, "mean": 1 / self.replicas}
                return next((name for name, value in names.items() if abs(weight / value - 1) < _WEIGHT_NEAR), None)
        return None

    def gives(self, target: Leaves, weights: Sequence[float]) -> bool:
        """Returns whether the terms, each times its weight, add up to the target's leaves, up to rounding."""
        return self.is_elementwise and self.reaches(target, total(self.terms, list(weights)))

    def reaches(self, target: Leaves, candidate: Leaves) -> bool:
        """Returns whether leaves [any shape] that were computed from the terms are the target's, up to rounding."""
        if len(target) != len(candidate):
            return False
        return all(
            self._leaf_reaches(number, one, other)
            for number, (one, other) in enumerate(zip(target, candidate, strict=True))
        )

    def _leaf_reaches(self, number: int, target: Host, candidate: Host) -> bool:
        if target.shape != candidate.shape:
            return False
        left, right = wide(target), wide(candidate)
        finite = np.isfinite(left)
        if not finite.all() or not np.isfinite(right).all():
            return bool(np.array_equal(left, right, equal_nan=True))
        largest = max(
            [float(np.abs(wide(term[number])).max(initial=0)) for term in self._finite_terms(number)] or [0.0]
        )
        unit = unit_of(target)
        size = float(np.abs(left).max(initial=0))
        bound = allowed(self.units[number], target) * size + _TERMS_ULPS * unit * largest
        return bool(np.abs(left - right).max(initial=0) <= bound)

    def _finite_terms(self, number: int) -> list[Leaves]:
        return [term for term in self.terms if number < len(term) and np.isfinite(wide(term[number])).all()]


def combine(
    reference: PointFacts, other: PointFacts, units: Sequence[float], counts: tuple[int, int], scale: float = 1.0
) -> Combination:
    """Makes the combination of one point of both runs."""
    found = other.outputs if scale == 1.0 else tuple([wide(leaf) * scale for leaf in other.outputs])
    given = tuple([units[number] if number < len(units) else 0.0 for number in range(len(reference.outputs))])
    known = tuple(
        [
            max(unit, unit_of(leaf), reference.ulp if leaf.dtype.kind == "f" else 0.0)
            for unit, leaf in zip(given, reference.outputs, strict=True)
        ]
    )
    return Combination(reference, other, other.inputs, reference.outputs, found, known, counts, scale)


def together(point: PointFacts) -> Host | None:
    """Returns the sum of an array [any shape] of which each replica has a component; None for several arrays."""
    if not point.inputs or any(len(term) != 1 for term in point.inputs):
        return None
    if len({term[0].shape for term in point.inputs}) > 1:
        return None
    return total(point.inputs, [1.0] * len(point.inputs))[0]


def differing(one: Combination) -> list[int]:
    """Returns the numbers of the leaves that differ beyond rounding."""
    return [
        number
        for number, (expected, found, unit) in enumerate(zip(one.expected, one.found, one.units, strict=False))
        if not alike(expected, found, unit)
    ]


def focused(one: Combination) -> Combination:
    """Returns the combination of those leaves alone that differ, where others of the point agree."""
    numbers = differing(one)
    if len(one.found) != len(one.expected) or len(numbers) in (0, len(one.expected)):
        return one
    pick = [
        tuple([leaves[number] for number in numbers]) if len(leaves) == len(one.expected) else leaves
        for leaves in (one.expected, one.found, *one.terms)
    ]
    units = tuple([one.units[number] for number in numbers])
    return one._replace(expected=pick[0], found=pick[1], terms=tuple(pick[2:]), units=units)


def whole(one: Combination) -> bool:
    """Returns whether every replica contributes the whole value, and not a part of it.

    It is what the reference combines, or what each of several replicas contributes in the reference as well.
    """
    if not one.is_elementwise or one.differ_among_replicas:
        return False
    given = one.reference.inputs
    alone = len(given) > 1 and len(given[0]) == len(one.expected) and not varies(given, one.units)
    targets = [one.expected, *([given[0]] if alone else [])]
    return any(all_alike(target, one.terms[0], one.units) for target in targets)
