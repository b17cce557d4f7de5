"""Places of elements, counts, and order.  Places and counts are int32.

Deviation of all: the standard has them in the default dtype of indices, which is int64 with most libraries.
"""

from typing import Protocol

from simstrategy.device.functions.reductions import Axis
from simstrategy.device.terms import Array

__all__ = ["Searching"]


class Searching(Protocol):
    """Functions that search, count and sort.  No complex numbers, except for `count_nonzero`.

    Raises of all: an axis that x does not have.
    """

    def argmax(self, x: Array, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
        """Returns the place of the first of the largest of x […] along an axis, or in the flat array; int32.

        The first NaN where there is one. Raises ValueError for the largest of nothing.
        """
        ...

    def argmin(self, x: Array, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
        """Returns the place of the first of the smallest of x […] along an axis, or in the flat array; int32.

        The first NaN where there is one. Raises ValueError for the smallest of nothing.
        """
        ...

    def count_nonzero(self, x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
        """Returns how many of x […] along axes are not 0; int32."""
        ...

    def searchsorted(self, x1: Array, x2: Array, /, *, side: str = "left", sorter: Array | None = None) -> Array:
        """Returns where each of x2 […] would go into x1 [n] so that it stays sorted; int32 […].

        side: "left" before equal ones, "right" behind them. sorter: the places [n] that sort x1. Real numbers; NaN is
        undefined. Raises for another side.
        """
        ...

    def sort(self, x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Array:
        """Returns x […] sorted along an axis, in its dtype.  The place of NaN is undefined."""
        ...

    def argsort(self, x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Array:
        """Returns the places that sort x […] along an axis; int32.  The place of NaN is undefined.

        Equal elements keep their order, whatever `stable` is.
        """
        ...
