"""Compares two runs without the elements of parameters that rounding alone decides, which a finding then names.

Which elements these are is found in the gradients of both runs (`causes/left_over.py`).
"""

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

import numpy as np

from simstrategy.check.across import Across, Side, compare_across
from simstrategy.check.meaning import Meaning

__all__ = ["LeftOver", "judged_without"]

LeftOver = Mapping[str, np.ndarray[Any, np.dtype[np.bool_]]]
"""By path, which elements of a value rounding alone decides, as bool [as the value]."""

_ALL: Final = "the gradients are what rounding leaves where terms cancel, so no two runs need have the same"
_SOME: Final = "{} of {} elements are not: their gradients are what rounding leaves where terms cancel"


def judged_without(
    sides: tuple[Side, Side],
    patterns: Mapping[str, str],
    found: Across,
    left_over: Callable[[Collection[str]], LeftOver],
    *,
    but: Collection[str],
) -> Across:
    """Returns a comparison in which values that could not be judged are compared without such elements.

    found: the comparison with them. left_over: returns these elements of values, by path. but: the paths of values that
    differ by more than the inputs' rounding has moved them. Where the other elements of a value are not judged either,
    or differ, it stays as it was: without these elements less is known of rounding.
    """
    paths = [path for path in found.undecided if path not in but]
    if found.problems or not paths:
        return found
    masks = {
        path: mask
        for path, mask in left_over(paths).items()
        if all(value.shape == mask.shape for side in sides for value in side.meaning.values(path))
    }
    while masks:
        again = compare_across(_without(sides[0], masks), _without(sides[1], masks), patterns)
        unlike = {*again.problems, *again.undecided}
        if not unlike & masks.keys():
            return found if again.problems else again
        masks = {path: mask for path, mask in masks.items() if path not in unlike}
    return found


def _without(side: Side, masks: LeftOver) -> Side:
    nudged = [_zeroed(one, masks) for one in side.nudged]
    return side._replace(meaning=_zeroed(side.meaning, masks), nudged=nudged)


def _zeroed(meaning: Meaning, masks: LeftOver) -> Meaning:
    """Returns a meaning with zeros in place of these elements, each value of which is compared in part alone."""
    whole, apart = {**meaning.whole}, {**meaning.apart}
    for path, mask in masks.items():
        if path in whole:
            whole[path] = np.where(mask, whole[path].dtype.type(0), whole[path])
        elif path in apart:
            apart[path] = tuple([np.where(mask, value.dtype.type(0), value) for value in apart[path]])
    reasons = {path: _ALL if mask.all() else _SOME.format(mask.sum(), mask.size) for path, mask in masks.items()}
    return meaning._replace(whole=whole, apart=apart, partly={**meaning.partly, **reasons})
