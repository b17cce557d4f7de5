"""The small rational number that a float stands for, if there is exactly one.  No tolerance is given by a user here.

A float that a program computed is within a few roundings of the exact number. Two fractions whose numerators and
denominators are at most Q differ by at least 1 / Q²; where that is far more than the roundings, one such fraction at
most is meant, and a number that is none of them is refused.
"""

from fractions import Fraction
from math import isqrt
from typing import Final

__all__ = ["CHANCE", "largest_term", "simplest_between", "small_rational"]

CHANCE: Final = 300
"""Less than one real number in so many is taken for a fraction that it is not: 0.3 · Q² · 2E of them are."""


def largest_term(error: Fraction) -> int:
    """Returns the largest numerator and denominator that a number of this relative error can be judged for.

    error: above 0. The fractions of numerators and denominators up to Q cover 0.6 · Q² · error of all numbers
    (3 / π² · Q² of them between 0 and 1, each as wide as twice the error), which is kept below 1 / 500.

    >>> largest_term(Fraction(1, 2**49)), largest_term(Fraction(1, 2**20))
    (1369853, 59)
    """
    return isqrt(int(1 / (error * CHANCE)))


def small_rational(value: Fraction, error: Fraction, largest: int) -> Fraction | None:
    """Returns the one fraction within a relative error of a value, or None where it has larger terms.

    largest: of the numerator and of the denominator, at most `largest_term(error)`.

    >>> small_rational(Fraction(0.1), Fraction(1, 2**49), 1000)
    Fraction(1, 10)
    >>> small_rational(Fraction(2**0.5), Fraction(1, 2**49), 1000) is None
    True
    """
    if value < 0:
        opposite = small_rational(-value, error, largest)
        return None if opposite is None else -opposite
    if value == 0:
        return value
    found = simplest_between(value * (1 - error), value * (1 + error))
    return found if max(found.numerator, found.denominator) <= largest else None


def simplest_between(low: Fraction, high: Fraction) -> Fraction:
    """Returns the fraction of the smallest denominator from `low` to `high`, both above 0.

    Source: the continued fractions of both ends, up to the first term that differs.

    >>> simplest_between(Fraction(31, 100), Fraction(34, 100))
    Fraction(1, 3)
    """
    terms: list[int] = []
    while True:
        whole = -(-low.numerator // low.denominator)  # the next integer from `low` on
        if whole <= high:
            break
        terms.append(whole - 1)
        low, high = 1 / (high - terms[-1]), 1 / (low - terms[-1])
    found = Fraction(whole)
    for term in reversed(terms):
        found = term + 1 / found
    return found
