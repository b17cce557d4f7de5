"""What makes arrays, on the device of the running replica, else on the first local device.  No arithmetic."""

from collections.abc import Sequence
from typing import Protocol

from simstrategy.device.terms import Array, Number, Operand, Real

__all__ = ["Array", "Creation", "Shape"]

Shape = int | Sequence[int]


class Creation(Protocol):
    """Functions that make arrays of numbers, of shapes and of host data; what is made of an array is where that one is.

    Deviation of all: the default dtypes are float32, int32, bool and complex64; there is no `device`.
    Raises InvalidArgument for a dtype name that the backend does not have.
    """

    def asarray(self, value: Operand, *, dtype: str | None = None) -> Array:
        """Returns an array of host data, numbers or nested lists […]; one of the backend without `dtype` as it is.

        Host data is copied. NumPy arrays keep their dtype; Python numbers get the default one, int64 where an int needs
        it. Raises InvalidArgument for rows of unequal lengths and for numbers that the dtype does not hold, InvalidType
        for what is no number and for numbers of another kind than `dtype`; see `simstrategy.device.host_array`.
        Deviation: no `copy`; with `dtype`, an array is cast as by `astype`.
        """
        ...

    def zeros(self, shape: Shape, *, dtype: str | None = None) -> Array:
        """Returns zeros [*shape], float32 by default."""
        ...

    def ones(self, shape: Shape, *, dtype: str | None = None) -> Array:
        """Returns ones [*shape], float32 by default."""
        ...

    def full(self, shape: Shape, fill_value: Number | Array, *, dtype: str | None = None) -> Array:
        """Returns `fill_value` [*shape], by default in the number's default dtype.

        fill_value: a number, or an array [] that is cast as by `astype`. Raises InvalidArgument for one with axes, and
        for more elements than there is memory for.
        """
        ...

    def zeros_like(self, x: Array, /, *, dtype: str | None = None) -> Array:
        """Returns zeros of the shape of x […], by default in its dtype."""
        ...

    def ones_like(self, x: Array, /, *, dtype: str | None = None) -> Array:
        """Returns ones of the shape of x […], by default in its dtype."""
        ...

    def full_like(self, x: Array, /, fill_value: Number | Array, *, dtype: str | None = None) -> Array:
        """Returns `fill_value` in the shape of x […], by default in its dtype."""
        ...

    def arange(self, start: Real, /, stop: Real | None = None, step: Real = 1, *, dtype: str | None = None) -> Array:
        """Returns the numbers from start to before stop [ceil((stop - start) / step)], int32 or float32 by default.

        With one argument that is the stop, and the start is 0. An array [] is a number, too. Raises for a step of 0,
        InvalidType for an array with axes.
        """
        ...

    def linspace(
        self, start: Number, stop: Number, /, num: int, *, dtype: str | None = None, endpoint: bool = True
    ) -> Array:
        """Returns `num` numbers at equal distances from start to stop [num], float32 or complex64 by default.

        They are computed in float64 and rounded once. endpoint: whether the last one is `stop`. Raises for num < 0,
        InvalidType for a start or stop with axes.
        """
        ...

    def eye(self, n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: str | None = None) -> Array:
        """Returns ones on the k-th diagonal, zeros elsewhere [n_rows, n_cols or n_rows], float32 by default."""
        ...

    def meshgrid(self, *arrays: Array, indexing: str = "xy") -> Sequence[Array]:
        """Returns the coordinates of a grid: n arrays of n dimensions, from n arrays [n_i] of one dtype.

        indexing: "ij" for [n_0, n_1, …], "xy" for [n_1, n_0, …]. Raises for another.
        """
        ...

    def tril(self, x: Array, /, *, k: int = 0) -> Array:
        """Returns x […, m, n] with zeros above the k-th diagonal, in its dtype.  At least two dimensions."""
        ...

    def triu(self, x: Array, /, *, k: int = 0) -> Array:
        """Returns x […, m, n] with zeros below the k-th diagonal, in its dtype.  At least two dimensions."""
        ...

    def astype(self, x: Array, dtype: str, /) -> Array:
        """Returns x […] in another dtype; floats are cut off towards 0 for integers.

        Floats beyond the range of integers become the nearest integer of the dtype, and NaN 0; integers wrap.
        Raises InvalidArgument for a dtype that the backend does not have. Deviation: no `copy`, no `device`.
        """
        ...
