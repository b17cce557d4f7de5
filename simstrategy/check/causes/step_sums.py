"""Finds which collectives of a step its gradients come from: they are multiples of what was combined."""

from typing import Final

import numpy as np

from simstrategy.check.causes.facts import Host, PointFacts, StepFacts
from simstrategy.check.causes.rounding import wide

__all__ = ["are_combined", "combined_of", "multiple_of"]

_PARALLEL: Final = 1e-5
"""How near a combined array has to be to a multiple of a gradient, relatively, to be where the gradient comes from."""
_PLACES_MAX: Final = 64
"""At so many places an array is looked for in another one."""


def combined_of(step: StepFacts) -> PointFacts | None:
    """Returns the calls of a step whose results are multiples of its gradients, as one point with all of them.

    Its subject has the names of their parameters, a line each.
    """
    found: list[tuple[str, PointFacts]] = []
    for name, gradient in zip(step.names, step.gradients[0], strict=True):
        for call in reversed(step.calls):
            alike = len(call.outputs) == 1 and call.outputs[0].shape == gradient.shape
            if alike and call.op in ("SUM", "MEAN") and multiple_of(call.outputs[0], gradient) is not None:
                found.append((name, call))
                break
    if not found or len({call.op for _, call in found}) > 1:
        return None
    calls = [call for _, call in found]
    inputs = tuple(tuple([call.inputs[rank][0] for call in calls]) for rank in range(len(calls[0].inputs)))
    outputs = tuple([call.outputs[0] for call in calls])
    subject = "\n".join(name for name, _ in found)
    before = tuple([step.before[0][step.names.index(name)] for name, _ in found])
    return calls[0]._replace(step=step.number, subject=subject, inputs=inputs, outputs=outputs, before=before)


def are_combined(step: StepFacts) -> bool:
    """Returns whether sums or means of the step have all of its gradients in their results, alone or one after another.

    Those of DistributedDataParallel have many in one array.
    """
    results = [wide(call.outputs[0]).reshape(-1) for call in step.calls if call.op in ("SUM", "MEAN") and call.outputs]
    scales = (1.0, float(len(step.terms)), 1 / (len(step.terms) or 1))
    gradients = [wide(one).reshape(-1) for one in step.gradients[0] if one.any()]
    return bool(gradients) and all(
        any(_holds(result, scale * one) for scale in scales for result in results) for one in gradients
    )


def _holds(whole: Host, part: Host) -> bool:
    """Returns whether an array [n] has another one [m] at some place, up to rounding."""
    if part.size > whole.size or not np.isfinite(part).all():
        return False
    largest = int(np.abs(part).argmax())
    bound = _PARALLEL * abs(part[largest])
    near = np.abs(whole[largest : whole.size - part.size + largest + 1] - part[largest]) <= bound
    return any(
        np.abs(whole[place : place + part.size] - part).max() <= bound
        for place in np.flatnonzero(near)[:_PLACES_MAX].tolist()
    )


def multiple_of(one: Host, other: Host) -> float | None:
    """Returns the number by which an array [...] has to be multiplied to give another one; None where there is none."""
    left, right = wide(one), wide(other)
    size = float(np.sum(left * left)) if left.dtype.kind == "f" else 0.0
    if left.shape != right.shape or not size or not np.isfinite(size) or not np.isfinite(right).all():
        return None
    k = float(np.sum(left * right)) / size
    return k if k and np.abs(left * k - right).max() <= _PARALLEL * np.abs(right).max() else None
