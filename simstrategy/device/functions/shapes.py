"""What changes shapes and the order of elements, joins, takes apart and picks.  No arithmetic.

Results have the dtype of x; several arrays promote as operands do. On backends whose arrays can be written to, a result
may share memory with its argument, as NumPy's views do; with host data it never does.
"""

from collections.abc import Sequence
from typing import Protocol

from simstrategy.device.terms import Array

__all__ = ["Shapes"]


class Shapes(Protocol):
    """Functions of shapes.  Raises of all: an axis that x does not have, and sizes that do not fit."""

    def permute_dims(self, x: Array, /, axes: tuple[int, ...]) -> Array:
        """Returns x with its axes in another order: [x.shape[axes[0]], …]; negative ones count back."""
        ...

    def matrix_transpose(self, x: Array, /) -> Array:
        """Returns x […, m, n] with its last two axes exchanged […, n, m].  Raises for less than two dimensions."""
        ...

    def moveaxis(self, x: Array, source: int | tuple[int, ...], destination: int | tuple[int, ...], /) -> Array:
        """Returns x […] with the axes of `source` moved to `destination`; the others keep their order."""
        ...

    def reshape(self, x: Array, /, shape: tuple[int, ...]) -> Array:
        """Returns the elements of x in row-major order [*shape]; one size may be -1.  Deviation: no `copy`."""
        ...

    def expand_dims(self, x: Array, /, *, axis: int | tuple[int, ...]) -> Array:
        """Returns x […] with new axes of size 1, at these places of the result.  Deviation: no default."""
        ...

    def squeeze(self, x: Array, /, axis: int | tuple[int, ...]) -> Array:
        """Returns x […] without these axes.  Raises where the size of one is not 1."""
        ...

    def broadcast_to(self, x: Array, /, shape: tuple[int, ...]) -> Array:
        """Returns x broadcast [*shape].  Raises where its shape does not broadcast to it."""
        ...

    def broadcast_arrays(self, *arrays: Array) -> Sequence[Array]:
        """Returns all arrays […] broadcast to their common shape, each in its own dtype."""
        ...

    def concat(self, arrays: Sequence[Array], /, *, axis: int | None = 0) -> Array:
        """Returns arrays [m_i, …] joined along an existing axis [sum of m_i, …]; None joins them flat."""
        ...

    def stack(self, arrays: Sequence[Array], /, *, axis: int = 0) -> Array:
        """Returns n arrays of one shape joined along a new axis [n, …]."""
        ...

    def unstack(self, x: Array, /, *, axis: int = 0) -> Sequence[Array]:
        """Returns the n arrays along an axis of x [n, …], without that axis.  Raises for no dimensions."""
        ...

    def flip(self, x: Array, /, *, axis: int | tuple[int, ...] | None = None) -> Array:
        """Returns x […] with the order of elements reversed along an axis, several, or all of them."""
        ...

    def roll(self, x: Array, /, shift: int | tuple[int, ...], *, axis: int | tuple[int, ...] | None = None) -> Array:
        """Returns x […] with elements moved by `shift` along `axis`, from the end to the beginning.

        None rolls the flat array. A tuple of shifts takes a tuple of axes, one for each.
        """
        ...

    def repeat(self, x: Array, repeats: Array | int, /, *, axis: int | None = None) -> Array:
        """Returns x […] with each element repeated along an axis; None repeats those of the flat array.

        repeats: one int, or as many as the axis is long; in a compiled step, one int.
        """
        ...

    def tile(self, x: Array, repetitions: tuple[int, ...], /) -> Array:
        """Returns x […] repeated whole, `repetitions` times along each axis; the shorter of both is led by ones."""
        ...

    def take(self, x: Array, indices: Array, /, *, axis: int) -> Array:
        """Returns the elements at `indices` along an axis; negative ones count from the end.

        Of x [n, …] along axis 0 and indices [i, …], [i, …, …]. Raises beyond the ends; in a compiled step of XLA such
        elements are NaN, or an integer's extreme. Deviation: indices of any number of dimensions, and no default axis.
        """
        ...

    def take_along_axis(self, x: Array, indices: Array, /, *, axis: int = -1) -> Array:
        """Returns of each row of x […] along an axis the elements at that row of `indices`, of as many dimensions.

        Negative indices count from the end. Raises beyond the ends; in a compiled step of XLA, as `take`.
        """
        ...


def require_shifts(shift: object, axis: object) -> None:
    """Raises TypeError for a shift that is no integer, ValueError for a tuple of them without an axis for each.

    >>> require_shifts((1, 2), (0, 1))
    >>> require_shifts((1, 2), (0,))
    Traceback (most recent call last):
    ValueError: not a shift for each axis
    """
    if isinstance(shift, float):
        raise TypeError("a shift is an integer")
    if isinstance(shift, tuple) and not (isinstance(axis, tuple) and len(shift) == len(axis)):
        raise ValueError("not a shift for each axis")
