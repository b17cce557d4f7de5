"""Follows a difference of gradients into the loss: the first value in the graph whose total is another one.

Gradients of several turns add up, and those of replicas are added or averaged, so the total of the loss is its sum over
the turns of a step, and its sum or mean over the replicas.
"""

from collections.abc import Mapping
from typing import Final

import numpy as np

from simstrategy.check.causes.facts import FACTOR, Finding, Host, StepFacts
from simstrategy.check.causes.held import Held, History, Key, Run, histories, is_near
from simstrategy.check.causes.rounding import wide
from simstrategy.check.causes.spots import Fault
from simstrategy.check.causes.standing import all_near, combined, failing_at

__all__ = ["fault_in_loss", "losses_agree"]

_BACKWARD: Final = "backward()"
_SAME: Final = 4e-6
"""How near losses are that are equal up to rounding, relatively."""
_NEAR: Final = 1e-3


def fault_in_loss(runs: tuple[Run, Run], steps: tuple[StepFacts, StepFacts], factor: float | None) -> Fault | None:
    """Returns the first scalar in the graph of a step that is wrong, or what the script's backward pass returns.

    factor: by which the gradients differ, None where that is not one number.
    """
    expected, found, totals = _scalars(runs, steps[1])
    if not totals:
        return None
    if _is_same(totals):
        return _backward(runs[1], steps[1].number)
    return _of_factor(found, totals, factor) or _unlawful(expected, found, totals)


def losses_agree(runs: tuple[Run, Run], step: StepFacts) -> bool:
    """Returns whether the last scalar in the graph of a step has the reference's total."""
    *_, totals = _scalars(runs, step)
    return bool(totals) and _is_same(totals)


def _is_same(totals: Mapping[Key, tuple[Host, Host]]) -> bool:
    """Returns whether the last total is the reference's, up to rounding in float32.

    Losses of a model that has not learned are near each other, whatever the weights of their examples are.
    """
    one, other = map(float, totals[[*totals][-1]])
    return abs(other - one) <= _SAME * abs(one)


def _scalars(
    runs: tuple[Run, Run], step: StepFacts
) -> tuple[Mapping[Key, History], Mapping[Key, History], Mapping[Key, tuple[Host, Host]]]:
    """Returns the scalars in the graph of a step in both runs, and the totals of those that both have."""
    expected, found = [
        histories(run, lambda one: one.step == step.number and one.is_graded and one.is_scalar and one.is_float)
        for run in runs
    ]
    rule = _rule(step)
    totals = {
        key: (_total(expected[key], rule), _total(history, rule)) for key, history in found.items() if key in expected
    }
    return expected, found, totals


def _of_factor(
    found: Mapping[Key, History], totals: Mapping[Key, tuple[Host, Host]], factor: float | None
) -> Fault | None:
    """Returns the first scalar whose total differs by the factor of the gradients."""
    for key, (one, other) in totals.items():
        if factor is not None and float(one) and abs(float(other) / float(one) / factor - 1) < _NEAR:
            reason = f"its total is {factor:.6g} times the reference's, as that of the gradients is"
            return Fault(found[key].values[0][0], Finding(FACTOR, reason))
    return None


def _unlawful(
    expected: Mapping[Key, History], found: Mapping[Key, History], totals: Mapping[Key, tuple[Host, Host]]
) -> Fault | None:
    """Returns the first scalar that stands in no lawful way to the reference's."""
    for key, (one, other) in totals.items():
        if not is_near(one, other) and failing_at(expected[key], found[key]) is not None:
            reason = "its total over the step is another one than in the reference"
            return Fault(found[key].values[0][0], Finding(None, reason))
    return None


def _backward(run: Run, step: int) -> Fault | None:
    """Returns what the last backward pass that the script defines returned in a step."""
    returned = [one for one in run[0] if one.name == _BACKWARD and one.step == step]
    if not returned:
        return None
    reason = "the loss is the reference's and the gradients are not, and this backward pass is the script's own"
    return Fault(returned[-1], Finding(None, reason), is_backward=True)


def _total(history: History, rule: str) -> Host:
    """Returns the sum over the turns of what the replicas have together.  rule: "sum" or "mean", over the replicas."""
    values: list[list[Held]] = [list(values) for values in history.values]
    each = [sum(float(wide(one.leaves[0]).reshape(-1)[0]) for one in held) for held in values]
    return np.asarray(sum(each) / (len(each) if rule == "mean" else 1))


def _rule(step: StepFacts) -> str:
    """Returns how the replicas' gradients were combined, by the numbers: "sum" or "mean"."""
    own, gradient = step.terms, step.gradients[0]
    if len(own) > 1 and all_near(combined([own], "sum", "mean"), gradient):
        return "sum"
    return "mean"
