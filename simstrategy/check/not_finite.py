"""The first element of an array that is not finite, in words.  Nothing here judges it: it may be there on purpose."""

import numpy as np

from simstrategy.check.distances import is_float

__all__ = ["not_finite_in"]


def not_finite_in(array: np.ndarray) -> str | None:
    """Returns what an array of floats [any shape] has that is not finite; None for another one.

    >>> not_finite_in(np.float32([1, np.inf, np.nan]))
    'is inf at [1], 2 of 3 elements are not finite'
    >>> not_finite_in(np.float64(np.nan)), not_finite_in(np.zeros(2)), not_finite_in(np.asarray("nan"))
    ('is nan', None, None)
    """
    if not is_float(array):
        return None
    wrong = np.argwhere(~np.isfinite(array))
    if not len(wrong):
        return None
    first = tuple(int(index) for index in wrong[0])
    place = f" at {list(first)}" if first else ""
    others = f", {len(wrong)} of {array.size} elements are not finite" if array.size > 1 else ""
    return f"is {array[first]!s}{place}{others}"
