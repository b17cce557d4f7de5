"""Effective weights: what is measured with several replicas ÷ the same with one, as small rationals.

Decides what is a number and what is refused. What a weight means is in `problems.py`.
"""

from fractions import Fraction
from functools import lru_cache
from math import gcd
from typing import Final, NamedTuple, TypeAlias

from simstrategy.errors import InvalidArgument
from simstrategy.ledger.probing import Measured
from simstrategy.ledger.rationals import CHANCE, largest_term, small_rational
from simstrategy.ledger.results import is_single

__all__ = ["Precision", "Weight", "alone", "effective_weights", "precisions_of"]

Weight: TypeAlias = Fraction | None
"""None where the sample has no weight with one replica, such as one that a mask takes out."""

_ROUNDINGS: Final = 16
"""Of half an ulp each: of a column with one probe, in which sums add zeros, and factors round once each."""
_ROUNDINGS_OF_SUMS: Final = 64
"""For each of these and for each sample, where a factor is itself a sum over the samples, such as a sum of weights."""
_TERM_LARGE: Final = 2**16
"""Of sums of several fractions. In float64, fewer than one random number in 100,000 is near one of such terms."""
_TERM_MIN: Final = 256
_TERMS_PER_SAMPLE: Final = 4
"""A mean of means over W replicas has terms up to W · samples; one over windows as well, a few times that."""
_FLOAT32: Final = Fraction(1, 2**24)
_FLOAT64: Final = Fraction(1, 2**53)


class Precision(NamedTuple):
    """error: the largest relative error of a ratio. largest: the numerator or denominator up to which it is judged."""

    error: Fraction
    largest: int


def precisions_of(measured: Measured, index: int, *, replicas: int, samples: int) -> list[Precision]:
    """Returns how precise the ratios of a result are: first of a step with few roundings, then of one with sums.

    index: of the result. Where samples' own losses are added to the probes, each addition rounds once more. The second
    is left out where it would not separate the fractions that occur with so many samples and replicas.
    """
    unit = _FLOAT32 if measured.dtypes[index] == "float32" else _FLOAT64
    usual = max(_TERM_MIN, _TERMS_PER_SAMPLE * replicas * samples)
    few = unit * (_ROUNDINGS + (4 * samples if measured.without[index] else 0))
    found = [Precision(few, min(max(_TERM_LARGE, usual), largest_term(few)))]
    many = min(unit * _ROUNDINGS_OF_SUMS * (_ROUNDINGS + 4 * samples), Fraction(1, CHANCE * usual**2))
    if many > few:
        found.append(Precision(many, usual))
    return found


def effective_weights(one: Measured, several: Measured, index: int, replicas: int) -> tuple[tuple[Weight, ...], ...]:
    """Returns the weights of one result on each component of it, for every sample.

    Raises InvalidArgument for a ratio that is no small rational.
    """
    samples = one.weights[index].shape[1]
    worse = one if one.without[index] >= several.without[index] else several
    if several.dtypes[index] == "float32":
        worse = several
    precisions = precisions_of(worse, index, replicas=replicas, samples=samples)
    if is_single(one.weights[index]) and is_single(several.weights[index]):
        # Computed in float32 and cast afterwards. Simple fractions are found as of float64 before.
        error = _FLOAT32 * _ROUNDINGS
        precisions.append(Precision(error, largest_term(error)))

    @lru_cache(maxsize=4096)
    def ratio(weight: float, reference: float) -> Weight:
        if reference == 0:
            return None
        exact = Fraction(weight) / Fraction(reference)
        for precision in precisions:
            found = small_rational(exact, precision.error, precision.largest)
            if found is not None:
                return found
        raise _NotSmall(exact)

    rows = []
    references = one.weights[index][0].tolist()
    for row in several.weights[index]:
        weights: list[Weight] = []
        for sample, (weight, reference) in enumerate(zip(row.tolist(), references, strict=True)):
            try:
                weights.append(ratio(weight, reference))
            except _NotSmall as error:
                raise InvalidArgument(_no_rational(error.ratio, sample, several, index, replicas)) from None
        rows.append(tuple(weights))
    return tuple(rows)


class _NotSmall(Exception):
    """Carries a ratio that is no small rational to where its sample is known."""

    def __init__(self, ratio: Fraction) -> None:
        Exception.__init__(self)
        self.ratio = ratio


def _no_rational(ratio: Fraction, sample: int, several: Measured, index: int, replicas: int) -> str:
    precision = precisions_of(several, index, replicas=replicas, samples=several.weights[index].shape[1])[0]
    square = small_rational(ratio * ratio, 4 * precision.error, precision.largest)
    hint = f" Its square is {square}." if square is not None else ""
    bits = (
        "float32 has few bits: compute the probe rows in float64. Or its"
        if several.dtypes[index] == "float32"
        else "Its"
    )
    return (
        f"Sample {sample} has {float(ratio)!r} times its weight with one replica in {several.paths[index]} with "
        f"{replicas} replicas, which is no fraction of numbers up to {precision.largest}.{hint} {bits} factor comes "
        f"from more than numbers of samples, such as a statistic of a replica's part (a mean, a variance, a norm), a "
        f"root, or a random number: compute it over the whole batch, or leave it out."
    )


def alone(one: Measured, index: int) -> tuple[Weight, ...] | None:
    """Returns the samples' weights with one replica as the smallest whole numbers in their ratio; None without such.

    A sample without a weight has None.
    """
    weights = one.weights[index][0].tolist()
    first = next((weight for weight in weights if weight), 0.0)
    precision = precisions_of(one, index, replicas=1, samples=len(weights))[0]
    found = [small_rational(Fraction(one) / Fraction(first), *precision) if one else None for one in weights]
    if any(ratio is None and weight for ratio, weight in zip(found, weights, strict=True)):
        return None
    shares = [ratio for ratio in found if ratio is not None]
    multiple = 1
    for share in shares:
        multiple = multiple * share.denominator // gcd(multiple, share.denominator)
    common = 0
    for share in shares:
        common = gcd(common, int(share * multiple))
    return tuple(None if ratio is None else ratio * multiple / common for ratio in found)
