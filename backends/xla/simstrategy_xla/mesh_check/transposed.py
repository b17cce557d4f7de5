"""Sums that differentiation makes of a sum: where devices bring equal values, they multiply the gradients.

The transpose of a sum over devices is a sum over devices. Where JAX does not check copies (`check_vma=False`), it adds
as many equal cotangents as there are devices. The gradients are then too large by that number, and a later sum of them
shows it. Nothing here decides whether a difference is wrong: it adds a line to a cause that has this factor.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from simstrategy.check.causes.facts import Cause, Leaves, PointFacts
from simstrategy.check.distances import same_bits

__all__ = ["with_transposed_sum"]

_NEAR: Final = 1e-3
"""How near a factor has to be to the quotient of the numbers of devices."""


def with_transposed_sum(
    cause: Cause, reference: Sequence[PointFacts], other: Sequence[PointFacts], counts: tuple[int, int]
) -> Cause:
    """Returns a cause with the line of the transposed sum that has its factor, in its step and before its point.

    reference, other: the transposed sums of both runs, in order. counts: the numbers of devices of both. A cause
    without a factor, or with another one than the quotient of the counts, stays as it is. Clause: J-37.
    """
    factor = counts[1] / counts[0]
    if cause.factor is None or cause.number is None or abs(cause.factor / factor - 1) > _NEAR:
        return cause
    for point in other:
        is_before = point.step == cause.step and point.number < cause.number
        pairs = [one for one in reference if (one.step, one.site) == (point.step, point.site)]
        if is_before and pairs and _brings_one_value([*point.inputs, *[term for one in pairs for term in one.inputs]]):
            return cause._replace(source=point.site, text=f"{cause.text} {_sentence(point.site, factor)}")
    return cause


def _brings_one_value(terms: Sequence[Leaves]) -> bool:
    """Returns whether all devices of both runs bring equal values [any shape], which are not all zero."""
    first = terms[0]
    if any(len(term) != len(first) for term in terms) or not any(np.any(leaf) for leaf in first):
        return False
    return all(same_bits(one, leaf) for term in terms[1:] for one, leaf in zip(term, first, strict=True))


def _sentence(site: str, factor: float) -> str:
    return (
        f"The backward pass of the sum at {site} adds one equal value of each device, which gives the same factor "
        f"{factor:g}: take that sum outside of the function that is differentiated, or the mean of its gradients."
    )
