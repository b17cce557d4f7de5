"""Sums, means, extremes, and products of matrices and vectors.

axis: one, several, or None for all; those that are summed over go, or stay with size 1 with `keepdims`.
"""

from collections.abc import Sequence
from typing import Protocol

from simstrategy.device.terms import Array

__all__ = ["Axis", "Reductions"]
Axis = int | tuple[int, ...] | None


class Reductions(Protocol):
    """Functions along axes.  Raises of all: an axis that x does not have."""

    def sum(self, x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
        """Returns the sum of x […] along axes; integers wrap, the sum of nothing is 0.

        Deviation: keeps the dtype of x, also of small integers; no `dtype`.
        """
        ...

    def prod(self, x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
        """Returns the product of x […] along axes; integers wrap, the product of nothing is 1.

        Deviation: keeps the dtype of x, also of small integers; no `dtype`.
        """
        ...

    def cumulative_sum(self, x: Array, /, *, axis: int | None = None, include_initial: bool = False) -> Array:
        """Returns the sums of the first 1, 2, … elements of x [n] along an axis [n], or [n + 1] with 0 in front.

        Raises for no axis where x has not one dimension. Deviation: keeps the dtype of x; no `dtype`.
        """
        ...

    def cumulative_prod(self, x: Array, /, *, axis: int | None = None, include_initial: bool = False) -> Array:
        """Returns the products of the first 1, 2, … elements of x [n] along an axis [n], or [n + 1] with 1 in front.

        Raises for no axis where x has not one dimension. Deviation: keeps the dtype of x; no `dtype`.
        """
        ...

    def mean(self, x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
        """Returns the mean of x […] along axes, in its dtype, of integers and bool in float32; of nothing NaN."""
        ...

    def var(self, x: Array, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False) -> Array:
        """Returns the mean square distance from the mean along axes, in the dtype of x […].  Real floats.

        The sum of squares of N numbers is divided by N - correction.
        """
        ...

    def std(self, x: Array, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False) -> Array:
        """Returns the square root of `var`, in the dtype of x […].  Real floats."""
        ...

    def max(self, x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
        """Returns the largest of x […] along axes; NaN where one is.  Raises ValueError for nothing."""
        ...

    def min(self, x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
        """Returns the smallest of x […] along axes; NaN where one is.  Raises ValueError for nothing."""
        ...

    def all(self, x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
        """Returns whether all of x […] along axes are true, or not 0; bool.  Of nothing, true."""
        ...

    def any(self, x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
        """Returns whether any of x […] along axes is true, or not 0; bool.  Of nothing, false."""
        ...

    def diff(
        self, x: Array, /, *, axis: int = -1, n: int = 1, prepend: Array | None = None, append: Array | None = None
    ) -> Array:
        """Returns the differences of neighbours along an axis, n times [size - n]; integers wrap.

        prepend, append: arrays of the dtype of x that are joined to it first.
        """
        ...

    def matmul(self, x1: Array, x2: Array, /) -> Array:
        """Returns the products of matrices […, m, k] and […, k, n]: […, m, n], in the common dtype.

        A vector [k] is a row on the left and a column on the right, and its axis goes. The order of additions is the
        framework's. Raises for other sizes, and for no dimensions.
        """
        ...

    def vecdot(self, x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
        """Returns the sum of conj(x1) * x2 along an axis of x1 […, n] and x2 […, n], in the common dtype.

        The other axes broadcast. The order of additions is the framework's. Raises where the sizes differ.
        """
        ...

    def tensordot(self, x1: Array, x2: Array, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2) -> Array:
        """Returns the sums of products over axes of x1 […] and x2 […], in the common dtype: x1's other axes, then x2's.

        axes: the last N of x1 with the first N of x2, or the axes of both. Raises where their sizes differ.
        """
        ...
