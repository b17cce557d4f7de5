"""Finds the weights on the replicas' values that give the reference's result, from the parts or from the values.

Where the sizes of the parts are not known, because a program slices its data, the weights follow from the values: they
solve one equation for each element, and have to be fractions of small numbers of examples.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from simstrategy.check.causes.combination import Combination
from simstrategy.check.causes.facts import MEAN_OF_MEANS, MISSING_REDUCTION, SUM_OF_MEANS, Finding, Host
from simstrategy.check.causes.rounding import total, wide

__all__ = ["by_divisors", "by_weights", "solved_parts"]

_EXAMPLES_MAX: Final = 128
"""The most examples of a step for which sizes of parts are found from the values."""
_FRACTION_NEAR: Final = 2e-3
"""How near solved weights have to be to fractions, before the fractions are tried on the values."""

_ELEMENTS_MIN: Final = 3
"""The fewest elements for which sums of arrays are tried as divisors."""


def by_weights(one: Combination) -> Finding | None:
    """Recognises a mean or a sum of means over unequal parts: the replicas' shares as weights give the reference."""
    if not one.is_elementwise or not one.differ_among_replicas:
        return None
    sizes = one.parts if one.shares is not None else None
    recorded = sizes is not None
    if sizes is None and one.parts is None:
        sizes = solved_parts(one)
    if sizes is None or len(set(sizes)) == 1:
        return None  # equal parts have equal weights: a factor, if anything
    shares = [size / sum(sizes) for size in sizes]
    rule = one.rule
    if rule is None:
        return None
    if not _gives_expected(one, shares):
        # A loss that is divided by the number of replicas on each of them, and summed, is their mean.
        if rule != "sum" or not _gives_expected(one, [one.replicas * share for share in shares]):
            return None
        rule = "mean"
    listed = ", ".join(map(str, sizes[:-1])) + f" and {sizes[-1]}"
    parts = f"parts of {listed} examples" if recorded else f"unequal parts, whose sizes are as {listed}"
    weighted = "Weighted by their shares of the examples, the replicas' values give the reference's result"
    empty = [rank for rank, size in enumerate(sizes) if not size]
    nan = [rank for rank in empty if not all(np.isfinite(wide(leaf)).all() for leaf in one.terms[rank])]
    if nan:
        weighted = f"Replica {nan[0]} has no example, and its mean is 0/0. {weighted}"
    if rule == "mean":
        reason = f"each replica takes the mean over its own part, and {parts} weigh the same"
        remedy = "Divide by the number of examples of the whole batch, and add"
        return Finding(MEAN_OF_MEANS, f"{reason}. {weighted}", remedy, by_parts=True)
    reason = f"each replica takes the mean over its own part, {parts}, and these means are added"
    remedy = "Divide by the number of examples of the whole batch before adding"
    # A sum that is NaN may be divided later: the numbers do not show it.
    return Finding(SUM_OF_MEANS, f"{reason}. {weighted}", remedy, by_parts=True, also=(MEAN_OF_MEANS,) if nan else ())


def by_divisors(one: Combination, values: Sequence[tuple[str, str, Sequence[Host]]]) -> Finding | None:
    """Recognises a mean or a sum of quotients: as weights, a number of each replica gives the reference.

    values: what a value is called, its line, and the value of each replica.
    """
    rule = one.rule
    if rule is None or not one.is_elementwise or not one.differ_among_replicas:
        return None
    numbers_first = sorted(values, key=lambda one: any(value.size > 1 for value in one[2]))
    for what, site, found in numbers_first:
        numbers = _divisors(one, found)
        if numbers is None:
            continue
        if one.gives(one.expected, [number / sum(numbers) for number in numbers]):
            kind = MEAN_OF_MEANS if rule == "mean" else SUM_OF_MEANS
            amount = "sum of" if found[0].size > 1 else "value of"
            how = "these quotients weigh the same" if rule == "mean" else "these quotients are added"
            reason = (
                f"each replica divides by its own {amount} {what}, and {how}. Weighted by it, the replicas' values "
                f"give the reference's result"
            )
            remedy = "Reduce the divisor over all replicas, and add the quotients"
            return Finding(kind, reason, remedy, also=() if rule == "mean" else (MISSING_REDUCTION,), source=site)
    return None


def _divisors(one: Combination, found: Sequence[Host]) -> list[float] | None:
    """Returns what each replica may divide by: a number, or the sum of an array, such as a mask; None for no divisors.

    A replica whose mask has no example divides by something else, such as 1, and its value weighs nothing.
    A single number that differs fulfils an equation with some sum more easily than several numbers do.
    """
    if len(found) != one.replicas or any(value.dtype.kind not in "iufb" for value in found):
        return None
    if any(value.size != 1 for value in found) and sum(leaf.size for leaf in one.expected) < _ELEMENTS_MIN:
        return None
    numbers = [float(np.sum(wide(value))) for value in found]
    usable = np.isfinite(numbers).all() and min(numbers) >= 0 and max(numbers) > min(numbers)
    return numbers if usable else None


def _gives_expected(one: Combination, shares: list[float]) -> bool:
    if one.gives(one.expected, shares):
        return True
    reference, sizes = one.reference, one.reference.parts
    if len(reference.inputs) < 2 or sizes is None or not sum(sizes) or len(sizes) != len(reference.inputs):
        return False
    # The reference has several replicas, and may have the same fault: both runs are weighted.
    weighted = total(reference.inputs, [sum(shares) * size / sum(sizes) for size in sizes])
    return one.gives(weighted, shares)


def solved_parts(one: Combination) -> tuple[int, ...] | None:
    """Returns the smallest sizes of parts that are weights of the reference's result, or None.

    They are found only where the values have at least as many elements as there are replicas.
    """
    columns = [np.concatenate([wide(leaf).reshape(-1) for leaf in term]) for term in one.terms]
    target = np.concatenate([wide(leaf).reshape(-1) for leaf in one.expected])
    matrix = np.stack(columns, axis=1)
    if len(target) < one.replicas or matrix.dtype.kind == "c":
        return None
    if not (np.isfinite(matrix).all() and np.isfinite(target).all()):
        return None
    weights, _, rank, _ = np.linalg.lstsq(matrix, target, rcond=1e-6)
    if rank < one.replicas or (weights < -_FRACTION_NEAR).any() or abs(weights.sum() - 1) > _FRACTION_NEAR:
        return None
    for examples in range(one.replicas, _EXAMPLES_MAX + 1):
        sizes = np.round(weights * examples)
        near = np.abs(weights - sizes / examples).max() <= _FRACTION_NEAR / examples
        if near and sizes.sum() == examples and (sizes > 0).all():
            return tuple(int(size) for size in sizes) if one.gives(one.expected, sizes / examples) else None
    return None
