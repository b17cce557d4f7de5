"""Elementwise functions of one array: signs, rounding, exponentials, angles, tests; and choosing, `where` and `clip`.

x is […], and so is the result, in the dtype of x where nothing else is stated.
"""

from typing import Protocol

from simstrategy.device.terms import Array, Operand

__all__ = ["Elementwise"]


class Elementwise(Protocol):
    """Functions of one array.  What is for floats is for complex numbers too, where nothing else is stated.

    Deviation of all: integers and bool where floats must be given are computed as float32.
    """

    def logical_not(self, x: Operand, /) -> Array:
        """Returns whether x is not true […], bool; of numbers, whether it is 0."""
        ...

    def bitwise_invert(self, x: Array, /) -> Array:
        """Returns x with each bit inverted […].  Integers or bools; others raise."""
        ...

    def positive(self, x: Array, /) -> Array:
        """Returns x […] as a new array.  Numbers."""
        ...

    def negative(self, x: Array, /) -> Array:
        """Returns -x […]; integers wrap.  Numbers."""
        ...

    def abs(self, x: Array, /) -> Array:
        """Returns the magnitude of x […]; of complex numbers in the dtype of their parts."""
        ...

    def sign(self, x: Array, /) -> Array:
        """Returns -1, 0 or 1 by the sign of x […]; NaN stays; a complex number is divided by its magnitude."""
        ...

    def signbit(self, x: Array, /) -> Array:
        """Returns whether the sign bit of x is set […], bool: also that of -0.0.  Real floats."""
        ...

    def square(self, x: Array, /) -> Array:
        """Returns x * x […]; integers wrap."""
        ...

    def reciprocal(self, x: Array, /) -> Array:
        """Returns 1 / x […], correctly rounded.  Real floats."""
        ...

    def sqrt(self, x: Array, /) -> Array:
        """Returns the square root of x […]; NaN of real numbers below 0.  Floats."""
        ...

    def exp(self, x: Array, /) -> Array:
        """Returns e to the power of x […].  Floats."""
        ...

    def expm1(self, x: Array, /) -> Array:
        """Returns exp(x) - 1 […], exact for small x.  Floats."""
        ...

    def log(self, x: Array, /) -> Array:
        """Returns the natural logarithm of x […]; NaN of real numbers below 0.  Floats."""
        ...

    def log1p(self, x: Array, /) -> Array:
        """Returns log(1 + x) […], exact for small x.  Floats."""
        ...

    def log2(self, x: Array, /) -> Array:
        """Returns the logarithm of x to base 2 […].  Floats."""
        ...

    def log10(self, x: Array, /) -> Array:
        """Returns the logarithm of x to base 10 […].  Floats."""
        ...

    def sin(self, x: Array, /) -> Array:
        """Returns the sine of x […], in radians.  Floats."""
        ...

    def cos(self, x: Array, /) -> Array:
        """Returns the cosine of x […], in radians.  Floats."""
        ...

    def tan(self, x: Array, /) -> Array:
        """Returns the tangent of x […], in radians.  Floats."""
        ...

    def asin(self, x: Array, /) -> Array:
        """Returns the inverse sine of x […], in radians, in [-π/2, π/2].  Floats."""
        ...

    def acos(self, x: Array, /) -> Array:
        """Returns the inverse cosine of x […], in radians, in [0, π].  Floats."""
        ...

    def atan(self, x: Array, /) -> Array:
        """Returns the inverse tangent of x […], in radians, in [-π/2, π/2].  Floats."""
        ...

    def sinh(self, x: Array, /) -> Array:
        """Returns the hyperbolic sine of x […].  Floats."""
        ...

    def cosh(self, x: Array, /) -> Array:
        """Returns the hyperbolic cosine of x […].  Floats."""
        ...

    def tanh(self, x: Array, /) -> Array:
        """Returns the hyperbolic tangent of x […].  Floats."""
        ...

    def asinh(self, x: Array, /) -> Array:
        """Returns the inverse hyperbolic sine of x […].  Floats."""
        ...

    def acosh(self, x: Array, /) -> Array:
        """Returns the inverse hyperbolic cosine of x […]; NaN of real numbers below 1.  Floats."""
        ...

    def atanh(self, x: Array, /) -> Array:
        """Returns the inverse hyperbolic tangent of x […]; NaN of real numbers beyond 1.  Floats."""
        ...

    def floor(self, x: Array, /) -> Array:
        """Returns the largest integers not above x […].  Real numbers; integers as they are."""
        ...

    def ceil(self, x: Array, /) -> Array:
        """Returns the smallest integers not below x […].  Real numbers; integers as they are."""
        ...

    def trunc(self, x: Array, /) -> Array:
        """Returns x without what is behind the point […].  Real numbers; integers as they are."""
        ...

    def round(self, x: Array, /) -> Array:
        """Returns the nearest integers […], of two the even one.  Real numbers; integers as they are.

        Deviation: complex numbers are undefined.
        """
        ...

    def isfinite(self, x: Array, /) -> Array:
        """Returns whether x is neither infinite nor NaN […], bool.  Numbers."""
        ...

    def isinf(self, x: Array, /) -> Array:
        """Returns whether x is infinite […], bool.  Numbers."""
        ...

    def isnan(self, x: Array, /) -> Array:
        """Returns whether x is NaN […], bool.  Numbers."""
        ...

    def conj(self, x: Array, /) -> Array:
        """Returns the complex conjugate of x […].  Numbers; real ones as they are."""
        ...

    def real(self, x: Array, /) -> Array:
        """Returns the real part of x […], in the dtype of the parts.  Complex numbers."""
        ...

    def imag(self, x: Array, /) -> Array:
        """Returns the imaginary part of x […], in the dtype of the parts.  Complex numbers."""
        ...

    def clip(self, x: Array, /, min: Operand | None = None, max: Operand | None = None) -> Array:  # noqa: A002 - the standard's names
        """Returns x […], raised to min and lowered to max; they are numbers, or arrays that broadcast.  Real numbers.

        Computed as minimum(maximum(x, min), max): NaN in a bound gives NaN. Raises InvalidArgument for an integer
        bound that the dtype of x does not have.
        """
        ...

    def where(self, condition: Array, x1: Operand, x2: Operand, /) -> Array:
        """Returns x1 where the condition is true, else x2 […]; all three broadcast.  dtype: the common one."""
        ...
