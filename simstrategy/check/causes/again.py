"""Recognises gradients that are summed over the replicas again, as after each of several micro-batches.

Each turn sums what the replicas hold. From the second turn on that is the sum of the turn before, and the replica's own
gradient: the former counts once for each replica.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import numpy as np

from simstrategy.check.causes.facts import AGAIN, Finding, Host, PointFacts, StepFacts
from simstrategy.check.causes.rounding import all_alike, wide

__all__ = ["by_turns"]

_UNIT: Final = 2e-5
"""A fifth of how near the replicas' own gradients have to be to the reference's, together, relatively."""
_NEAR: Final = 1e-5


def by_turns(step: StepFacts, reference: StepFacts) -> Finding | None:
    """Returns what is wrong where the replicas' own gradients of all turns, each once, give the reference's.

    step: of the run that differs. Clause: G-36.
    """
    turns = _turns(step)
    if len(turns) < 2 or not step.gradients or len(reference.gradients) > 1:
        return None
    meant = []
    for place, gradient in enumerate(step.gradients[0]):
        calls = [turn[place] for turn in turns]
        last = wide(calls[-1].outputs[0])
        size = float(np.sum(last * last))
        scale = float(np.sum(last * wide(gradient))) / size if size else 0.0
        if not scale or np.abs(last * scale - wide(gradient)).max() > _NEAR * np.abs(wide(gradient)).max():
            return None
        meant.append((_own(calls) * scale).astype(gradient.dtype))
    if not all_alike(reference.gradients[0], tuple(meant), tuple([_UNIT] * len(meant))):
        return None
    site = turns[0][0].site
    reason = (
        f"the all_reduce at {site} is made {len(turns)} times before the update, and from the second time on each "
        f"replica brings what was summed before as well, which counts {len(step.gradients)} times then. The replicas' "
        f"own gradients of all times, summed once, are the reference's"
    )
    return Finding(AGAIN, reason, "Sum once, after the last micro-batch", source=site)


def _turns(step: StepFacts) -> list[list[PointFacts]]:
    """Returns the sums of the step turn by turn, one for each parameter in their order; [] where there are others."""
    count = len(step.names)
    calls = [call for call in step.calls if call.op == "SUM" and len(call.outputs) == 1]
    if not count or len(calls) % count or len({call.site for call in calls}) > 1:
        return []
    turns = [calls[start : start + count] for start in range(0, len(calls), count)]
    shapes = [one.shape for one in step.gradients[0]]
    alike = all([call.outputs[0].shape for call in turn] == shapes for turn in turns)
    return turns if alike and all(len(call.inputs) == len(step.gradients) for call in calls) else []


def _own(calls: Sequence[PointFacts]) -> Host:
    """Returns the sum of what the replicas have added themselves, over all turns [any shape]."""
    found = wide(calls[0].outputs[0])
    for before, call in pairwise(calls):
        found = found + sum(wide(term[0]) - wide(before.outputs[0]) for term in call.inputs)
    return found
