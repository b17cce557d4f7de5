"""How elements move by one ulp: the same for arrays of NumPy and of JAX, by a pattern that may be known at run time.

An integer stays one.
"""

from typing import Any, Final, NamedTuple, final

import jax.numpy as jnp
import numpy as np

from simstrategy.device.perturbed import LEFT_MAX

__all__ = ["Move"]

_CONSTANTS_MAX: Final = 4096
"""Up to how many elements of an array the ways in which they move are constants of the compiled program."""


@final
class Move(NamedTuple):
    """One way to move the elements of floats […].

    salt: which elements move alike. sums: what may be left of terms that cancel becomes larger where the pattern is
    odd, and has the other sign where it is even, or the other way round, as in `simstrategy.device.perturbed`. zeros:
    an element of sums that is zero, beside others that are not, becomes one ulp of the largest, or minus that.
    together: all elements move up where the pattern is odd, and down where it is even, so that their sum moves.
    """

    salt: int
    sums: bool = False
    zeros: bool = False
    together: bool = False

    def of(self, value: Any, pattern: Any) -> Any:
        """Returns the moved value, in its dtype.

        >>> Move(1, together=True).of(np.array([0.5, 2.0], np.float32), 1).tolist()
        [0.5000000596046448, 2.0]
        """
        xp = np if isinstance(value, np.ndarray) else jnp
        moved = _together(xp, value, pattern) if self.together else _moved(xp, value, self.salt, pattern)
        moved = xp.where(value == xp.floor(value), value, moved)
        if self.sums:
            moved = self._sums(xp, value, moved, pattern)
        return moved.astype(value.dtype)

    def _sums(self, xp: Any, value: Any, moved: Any, pattern: Any) -> Any:
        sizes = xp.abs(value)
        unit = xp.max(xp.where(xp.isfinite(value), sizes, 0), initial=0) * _eps(value)
        is_left = (sizes <= LEFT_MAX * unit) if self.zeros else (sizes > 0) & (sizes <= LEFT_MAX * unit)
        up = (_thirds(value, self.salt) == 0) == (pattern % 2 == 1)
        return xp.where(is_left, value + xp.where(up, sizes + unit, -sizes - unit), moved)


def _moved(xp: Any, value: Any, salt: int, pattern: Any) -> Any:
    """About two thirds are one ulp larger or smaller: each element in two of three patterns."""
    signs = xp.fmod(_thirds(value, salt) + pattern, np.int32(3)) - 1
    return value * (1 + signs.astype(value.dtype) * _eps(value)).astype(value.dtype)


def _together(xp: Any, value: Any, pattern: Any) -> Any:
    step = xp.abs(value) * _eps(value)
    return xp.where(pattern % 2 == 1, value + step, value - step)


def _eps(value: Any) -> float:
    return float(jnp.finfo(value.dtype).eps)  # type: ignore[no-untyped-call]


def _thirds(value: Any, salt: int) -> Any:
    """Returns 0, 1 or 2, int32, for each element of floats […].

    They are constants of the compiled program, which is compiled sooner so; of a large array they are computed there.
    """
    xp = np if value.size <= _CONSTANTS_MAX else jnp
    index = xp.full(value.shape, salt % 65521, xp.int32)
    for axis, length in enumerate(value.shape):
        place = xp.arange(length, dtype=xp.int32) * xp.int32(13)
        index = index * xp.int32(31) + place.reshape([-1 if one == axis else 1 for one in range(value.ndim)])
    drawn = xp.abs(index * xp.int32(1103515245) + xp.int32(12345)) >> xp.int32(8)
    return xp.fmod(drawn, xp.int32(3))
