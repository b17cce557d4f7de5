"""Recognises a function that stands on the wrong side of a sum: f of the reference is the sum of f of the replicas.

Norms are added where their squares were meant, logarithms or roots are averaged, a maximum is summed.
"""

from collections.abc import Callable
from typing import Final

import numpy as np

from simstrategy.check.causes.combination import Combination
from simstrategy.check.causes.facts import FUNCTION, Finding, Host, Leaves
from simstrategy.check.causes.rounding import varies, wide
from simstrategy.check.causes.scene import Scene

__all__ = ["by_functions"]

Function = Callable[[Host], Host]

_FUNCTIONS: Final[tuple[tuple[str, Function, Function], ...]] = (
    ("square", np.square, np.sqrt),
    ("exponential", np.exp, np.log),
    ("reciprocal", np.reciprocal, np.reciprocal),
    ("logarithm", np.log, np.exp),
)
"""Name, function, and its inverse."""


_CHOSEN_MIN: Final = 3
"""The fewest elements that show that the largest, or the smallest, of the replicas' elements was taken."""


def by_functions(scene: Scene) -> Finding | None:
    """Looks for the function and the weights with which the replicas' values give the reference's result."""
    one = scene.one
    if not one.is_elementwise or one.rule is None or not one.differ_among_replicas or not _is_rough(one):
        return None
    sizes = tuple([tuple([np.abs(wide(leaf)) for leaf in term]) for term in one.terms])
    if not varies(sizes, one.units):
        return None  # all at one bound: any mean of their squares is the square of the bound
    found: list[tuple[str, str]] = []
    for name, reduce in (("maximum", np.maximum), ("minimum", np.minimum), ("product", np.multiply)):
        # One number is one replica's value, or at a bound, more easily than several are.
        chosen = name != "product"
        if not (chosen and not _may_be_chosen(one)) and one.reaches(one.expected, _reduced(one, reduce)):
            found.append(
                (name, f"the reference's result is the {name} of the replicas' values, and not their {one.rule}")
            )
    for name, function, inverse in _FUNCTIONS:
        for how, weights in _weights(one):
            if one.reaches(one.expected, _through(one, function, inverse, weights)):
                text = f"the {name} of the reference's result is the {how} of the {name}s of the replicas' values"
                found.append((name, f"{text}: the function was applied before the {one.rule}, and belongs after it"))
                break
    return Finding(FUNCTION, found[0][1]) if len(found) == 1 else None


def _is_rough(one: Combination) -> bool:
    """Returns whether the values are no small integers, which fulfil many equations by chance."""
    values = np.concatenate([wide(leaf).reshape(-1) for leaf in (*one.expected, *one.terms[0], *one.terms[-1])])
    return bool(values.dtype.kind == "f" and np.isfinite(values).all() and (values != np.round(values)).any())


def _may_be_chosen(one: Combination) -> bool:
    """Returns whether elements of several replicas were taken: those of one alone are that replica's value."""
    enough = sum(leaf.size for leaf in one.expected) >= _CHOSEN_MIN
    return (
        enough and not _has_ties(one) and not any(one.reaches(one.expected, _scaled(one, term)) for term in one.terms)
    )


def _scaled(one: Combination, term: Leaves) -> Leaves:
    return tuple([wide(leaf) * one.scale for leaf in term])


def _has_ties(one: Combination) -> bool:
    """Returns whether replicas have equal elements: a bound to which values are clipped is a maximum of any of them."""
    flat = [np.concatenate([wide(leaf).reshape(-1) for leaf in term]) for term in one.terms]
    return any((flat[first] == flat[second]).any() for second in range(len(flat)) for first in range(second))


def _weights(one: Combination) -> list[tuple[str, list[float]]]:
    count = one.replicas
    found = [("sum", [1.0] * count), ("mean", [1.0 / count] * count)]
    shares = one.shares
    if shares is not None and len(set(shares)) > 1:
        found.append(("mean, weighted by examples,", list(shares)))
    return found


def _reduced(one: Combination, reduce: np.ufunc) -> Leaves:
    return tuple(
        reduce.reduce([wide(term[leaf]) for term in one.terms]) * one.scale for leaf in range(len(one.expected))
    )


def _through(one: Combination, function: Function, inverse: Function, weights: list[float]) -> Leaves:
    with np.errstate(all="ignore"):
        return tuple(
            np.asarray(
                inverse(
                    sum(
                        (function(wide(term[leaf])) * weight for term, weight in zip(one.terms, weights, strict=True)),
                        np.zeros(()),
                    )
                )
            )
            for leaf in range(len(one.expected))
        )
