"""Recognises steps that each replica makes with its own gradients: by mistake, or to average the parameters later."""

from typing import Final

from simstrategy.check.causes.facts import MISSING_REDUCTION, Finding, Leaves, StepFacts
from simstrategy.check.causes.rounding import all_alike, total, varies, wide

__all__ = ["are_averaged", "change", "not_combined"]

_UNIT: Final = 2e-4
"""A fifth of how near sums of gradients have to be to the reference's, relatively: the rest is of another kind."""


def change(before: Leaves, after: Leaves) -> Leaves:
    """Returns by how much leaves [...] have changed, in their dtypes."""
    return tuple([(wide(new) - wide(old)).astype(new.dtype) for old, new in zip(before, after, strict=True)])


def are_averaged(step: StepFacts, reference: StepFacts) -> bool:
    """Returns whether replicas make steps of their own whose mean is the reference's, and are made equal after them."""
    if len(step.made) < 2 or not varies(step.made, ()) or varies(step.after, ()) or len(reference.before) > 1:
        return False
    expected = change(reference.before[0], (reference.made or reference.after)[0])
    updates = tuple(change(before, made) for before, made in zip(step.before, step.made, strict=True))
    whole = total(updates, [1 / len(updates)] * len(updates))
    found = tuple(one.astype(leaf.dtype) for one, leaf in zip(whole, expected, strict=True))
    return all_alike(expected, found, tuple([_UNIT] * len(expected)))


def not_combined(step: StepFacts, reference: StepFacts) -> Finding | None:
    """Recognises gradients that each replica has for itself, and whose mean or sum is the reference's."""
    units = tuple([_UNIT] * len(step.names))
    if len(step.gradients) < 2 or len(reference.gradients) > 1 or not varies(step.gradients, units):
        return None
    for name, weight in (("mean", 1 / len(step.gradients)), ("sum", 1.0)):
        whole = total(step.gradients, [weight] * len(step.gradients))
        expected = reference.gradients[0]
        found = tuple(one.astype(leaf.dtype) for one, leaf in zip(whole, expected, strict=True))
        if all_alike(expected, found, units):
            reason = f"the gradients of the replicas are not reduced: their {name} is the reference's"
            return Finding(MISSING_REDUCTION, reason, "Average them over the replicas before the step")
    return None
