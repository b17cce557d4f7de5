"""What it means that a step changes a variable N times, or by the N-th part of, what it does in the reference.

What was reduced in the step agrees then: the factor comes after it, such as by a rate.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np

from simstrategy.check.causes.combination import together
from simstrategy.check.causes.facts import DIVIDED, RATE, SCALED, STEPS_COUNTED
from simstrategy.check.causes.scene import Scene

__all__ = ["change_meaning"]

Meaning = tuple[str, str, str, tuple[str, ...]]
"""Kind, reason, advice, and the other kinds that have the factor."""

_SCALED: Final = ": what the step changes is too large by that factor"
_DIVIDED: Final = ": what the step changes is too small by that factor"
_RATE: Final = "Let the rate, or what else scales the change, not depend on the number of replicas"


def change_meaning(scene: Scene, *, is_larger: bool) -> Meaning:
    """Returns what a change of a variable means that is N times the reference's, or the N-th part where not is_larger.

    Clause: J-80.
    """
    if is_larger:
        return SCALED, _SCALED, _RATE, (RATE,)
    for subject, place in _counted(scene):
        reason = f"{_DIVIDED}, and every replica counts in {subject!r} at {place}: its sum is {scene.one.ratio:g} times"
        return STEPS_COUNTED, f"{reason} the reference's", "Count once in a step", (DIVIDED, RATE)
    return DIVIDED, _DIVIDED, _RATE, (STEPS_COUNTED, RATE)


def _counted(scene: Scene) -> Iterator[tuple[str, str]]:
    """Yields name and line of whole numbers whose sum, up to this step, is N times the reference's."""
    step = scene.one.other.step
    theirs = {
        (point.step, point.subject): together(point) for point in scene.reference if point.own and point.step <= step
    }
    for point in scene.other:
        if point.own and point.step <= step and point.subject is not None:
            found, expected = together(point), theirs.get((point.step, point.subject))
            if found is None or expected is None or not expected.any() or (found != np.round(found)).any():
                continue
            if np.array_equal(found, expected * scene.one.ratio):
                yield point.subject, point.site
