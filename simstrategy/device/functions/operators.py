"""Elementwise functions of two arrays: arithmetic, comparisons, bits and logic.

x1 and x2 are […] and broadcast against each other. Arrays promote as `simstrategy.device.promotion` states; a Python
number takes the dtype of the array beside it, two numbers get their default dtype. A number that the dtype does not
have raises InvalidArgument, but in comparisons and logic on some backends.
"""

from typing import Protocol

from simstrategy.device.terms import Array, Operand

__all__ = ["Operators"]


class Operators(Protocol):
    """Functions of two arrays.  Raises of all: shapes that do not broadcast; dtypes without a common one."""

    def add(self, x1: Operand, x2: Operand, /) -> Array:
        """Returns x1 + x2 […] in the common dtype; integers wrap, bools are or-ed."""
        ...

    def subtract(self, x1: Operand, x2: Operand, /) -> Array:
        """Returns x1 - x2 […] in the common dtype; integers wrap.  Numbers only."""
        ...

    def multiply(self, x1: Operand, x2: Operand, /) -> Array:
        """Returns x1 * x2 […] in the common dtype; integers wrap, bools are and-ed."""
        ...

    def divide(self, x1: Operand, x2: Operand, /) -> Array:
        """Returns x1 / x2 […], correctly rounded, in the common dtype; integers and bool in float32.

        A complex x1 over real numbers is divided part by part. x / 0 is infinite, and 0 / 0 NaN.

        Deviation: rounded once on every backend; the standard leaves that open.
        """
        ...

    def floor_divide(self, x1: Operand, x2: Operand, /) -> Array:
        """Returns the largest integers not above x1 / x2 […], in the common dtype.  Real numbers.

        Integers over 0 are undefined, and raise on some backends.
        """
        ...

    def remainder(self, x1: Operand, x2: Operand, /) -> Array:
        """Returns x1 - x2 * floor(x1 / x2) […], with the sign of x2, in the common dtype.  Real numbers.

        Integers over 0 are undefined, and raise on some backends.
        """
        ...

    def pow(self, x1: Operand, x2: Operand, /) -> Array:
        """Returns x1 to the power of x2 […] in the common dtype.  Integers to negative powers are undefined."""
        ...

    def maximum(self, x1: Operand, x2: Operand, /) -> Array:
        """Returns the larger of x1 and x2 […] in the common dtype; NaN where one is NaN.  No complex numbers."""
        ...

    def minimum(self, x1: Operand, x2: Operand, /) -> Array:
        """Returns the smaller of x1 and x2 […] in the common dtype; NaN where one is NaN.  No complex numbers."""
        ...

    def atan2(self, x1: Operand, x2: Operand, /) -> Array:
        """Returns the angle of the point (x2, x1) […] in radians, in (-π, π], in the common dtype.  Floats."""
        ...

    def copysign(self, x1: Operand, x2: Operand, /) -> Array:
        """Returns the magnitude of x1 with the sign of x2 […] in the common dtype.  Floats."""
        ...

    def hypot(self, x1: Operand, x2: Operand, /) -> Array:
        """Returns sqrt(x1² + x2²) […] in the common dtype.  Floats.

        On TensorFlow it is infinite where a square is.
        """
        ...

    def logaddexp(self, x1: Operand, x2: Operand, /) -> Array:
        """Returns log(exp(x1) + exp(x2)) […] in the common dtype, without overflow on the way.  Floats."""
        ...

    def nextafter(self, x1: Operand, x2: Operand, /) -> Array:
        """Returns the next float after x1 towards x2 […] in the common dtype.  float32 and float64.

        On XLA's and TensorFlow's CPUs, subnormal numbers are taken for 0.
        """
        ...

    def equal(self, x1: Operand, x2: Operand, /) -> Array:
        """Returns whether x1 == x2 […], bool."""
        ...

    def not_equal(self, x1: Operand, x2: Operand, /) -> Array:
        """Returns whether x1 != x2 […], bool."""
        ...

    def less(self, x1: Operand, x2: Operand, /) -> Array:
        """Returns whether x1 < x2 […], bool.  No complex numbers."""
        ...

    def less_equal(self, x1: Operand, x2: Operand, /) -> Array:
        """Returns whether x1 <= x2 […], bool.  No complex numbers."""
        ...

    def greater(self, x1: Operand, x2: Operand, /) -> Array:
        """Returns whether x1 > x2 […], bool.  No complex numbers."""
        ...

    def greater_equal(self, x1: Operand, x2: Operand, /) -> Array:
        """Returns whether x1 >= x2 […], bool.  No complex numbers."""
        ...

    def logical_and(self, x1: Operand, x2: Operand, /) -> Array:
        """Returns whether both are true […], bool; of numbers, whether both are not 0."""
        ...

    def logical_or(self, x1: Operand, x2: Operand, /) -> Array:
        """Returns whether one is true […], bool; of numbers, whether one is not 0."""
        ...

    def logical_xor(self, x1: Operand, x2: Operand, /) -> Array:
        """Returns whether exactly one is true […], bool; of numbers, whether exactly one is not 0."""
        ...

    def bitwise_and(self, x1: Operand, x2: Operand, /) -> Array:
        """Returns the bits that are set in both […], in the common dtype.  Integers or bools, else raises."""
        ...

    def bitwise_or(self, x1: Operand, x2: Operand, /) -> Array:
        """Returns the bits that are set in one […], in the common dtype.  Integers or bools, else raises."""
        ...

    def bitwise_xor(self, x1: Operand, x2: Operand, /) -> Array:
        """Returns the bits that are set in exactly one […], in the common dtype.  Integers or bools, else raises."""
        ...

    def bitwise_left_shift(self, x1: Operand, x2: Operand, /) -> Array:
        """Returns x1 with its bits moved left by x2 […], in the common dtype.  Integers; others raise.

        x2 below 0, or not below the number of bits, is undefined.
        """
        ...

    def bitwise_right_shift(self, x1: Operand, x2: Operand, /) -> Array:
        """Returns x1 with its bits moved right by x2 […], with the sign kept.  Integers; others raise.

        x2 below 0, or not below the number of bits, is undefined.
        """
        ...
