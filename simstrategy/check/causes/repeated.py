"""Recognises a term that every replica adds, such as a weight decay, and that a sum has once for each replica.

What the found values have too much is one number times a variable as it was before the step, or times its signs, or it
is one number in all elements: such a term does not depend on the examples.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np

from simstrategy.check.causes.combination import Combination
from simstrategy.check.causes.facts import REPEATED, Finding, Host
from simstrategy.check.causes.rounding import allowed, wide
from simstrategy.check.causes.scene import Scene

__all__ = ["by_repeated_term"]

_ELEMENTS_MIN: Final = 3
"""The fewest elements that have to fulfil the equation: one number fits any one element."""
_ABOVE: Final = 30.0
"""How many times as much as rounding may explain the values have to be apart."""
_VARIABLE: Final = "a variable"
_ALL: Final = "1"

Candidate = tuple[str, Host]
"""What a term may be a multiple of: its name, and its values [any shape]."""


def by_repeated_term(scene: Scene) -> Finding | None:
    """Compares what a sum has too much with the variables before the step.  Clause: J-30."""
    one = scene.one
    more = one.counts[1] - one.counts[0]
    # A sum of equal terms is a factor; terms of one element can be anything.
    if one.rule != "sum" or not one.is_elementwise or not one.differ_among_replicas or more < 1:
        return None
    if sum(leaf.size for leaf in one.expected) < _ELEMENTS_MIN:
        return None
    for kind in (_VARIABLE, "sign", _ALL):
        found = [_multiple(scene, number, kind) for number in range(len(one.expected))]
        numbers = [entry for entry in found if entry is not None]
        if not numbers or len(numbers) < len(found):
            continue
        k, near = numbers[0][1], max(entry[2] for entry in numbers)
        if any(abs(entry[1] - k) > near * abs(k) for entry in numbers):
            continue
        name = numbers[0][0] if len({entry[0] for entry in numbers}) == 1 else "the variable itself"
        what = {_VARIABLE: f" × {name}", "sign": f" × the signs of {name}", _ALL: " in each element"}[kind]
        times = "" if more == 1 else f"{more} times "
        reason = (
            f"the found values are the reference's and {times}{k / more:.6g}{what} besides: a term that does not "
            f"depend on the examples, and that each replica adds, counts {one.counts[1]} times"
        )
        remedy = "Add it after the sum, or divide it by the number of replicas on each of them"
        return Finding(REPEATED, reason, remedy)
    return None


def _multiple(scene: Scene, number: int, kind: str) -> tuple[str, float, float] | None:
    """Returns of which candidate a leaf's difference is a multiple: its name, the number, and how near that is."""
    one = scene.one
    expected, found = wide(one.expected[number]), wide(one.found[number])
    difference = found - expected
    if not np.isfinite(difference).all() or difference.dtype.kind == "c":
        return None
    bound = allowed(one.units[number], one.expected[number]) * float(max(np.abs(expected).max(), np.abs(found).max()))
    if np.abs(difference).max() <= _ABOVE * bound:
        return None
    for name, values in _candidates(scene, one, number, kind):
        size = float(np.sum(values * values))
        k = float(np.sum(values * difference)) / size if size else 0.0
        if k and np.abs(difference - k * values).max() <= bound:
            return name, k, bound / float(np.abs(difference).max())
    return None


def _candidates(scene: Scene, one: Combination, number: int, kind: str) -> Iterator[Candidate]:
    shape = one.expected[number].shape
    if kind == _ALL:
        yield _ALL, np.ones(shape)
        return
    for point in (one.other, *[point for point in scene.other if point.step == one.other.step]):
        for name, leaf in zip(_names(point.subject, len(point.before)), point.before, strict=True):
            if leaf.shape == shape and leaf.dtype.kind == "f" and np.isfinite(leaf).all() and _varies(leaf):
                yield name, np.sign(wide(leaf)) if kind == "sign" else wide(leaf)


def _names(subject: str | None, count: int) -> list[str]:
    names = (subject or "").split("\n")
    return [f"the variable {name!r}" for name in names] if len(names) == count else [_VARIABLE] * count


def _varies(leaf: Host) -> bool:
    """Returns whether a leaf has more than one number: one that has not is a multiple of 1 as well."""
    return leaf.size == 1 or bool(np.ptp(leaf))
