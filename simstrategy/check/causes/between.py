"""States what stands between a loss that agrees and gradients that do not, in a step whose runs differ there."""

from typing import Final

from simstrategy.check.causes.facts import MISSING_REDUCTION, Cause, StepFacts
from simstrategy.check.causes.held import Held, Run, event_of
from simstrategy.check.causes.losses import losses_agree
from simstrategy.check.causes.writes import WRITTEN

__all__ = ["with_between"]

_STOPPED: Final = "collective without a gradient"
"""The name under which a rank notes a collective call on tensors that were computed for a backward pass."""
_BETWEEN: Final = (
    "The loss of this step agrees, taken as the mean or the sum over its replicas, and its gradients do not: what "
    "differs is between them"
)
_EXAMPLES: Final = (
    "as a hook of the backward pass, a detached value, or a clipping of each turn's gradients before those of all "
    "turns are added, is"
)
_NO_GRADIENT: Final = (
    "called with a tensor that was computed for the backward pass, and no gradient passes on to the other replicas: it "
    "may begin there. The calls of torch.distributed.nn.functional pass gradients on"
)


def with_between(cause: Cause, runs: tuple[Run, Run], step: StepFacts) -> Cause:
    """Returns a cause with what stands between loss and gradients of its step, where the loss agrees.

    runs: what names held, of the reference and of the other run. step: that of the cause, in the other run.
    """
    if cause.what in ("update", WRITTEN) or cause.kind == MISSING_REDUCTION or not losses_agree(runs, step):
        return cause
    calls = _stopped(runs[1], step.number)
    if not calls:
        return cause._replace(text=f"{cause.text} {_BETWEEN}, {_EXAMPLES}.")
    first = calls[0]
    names = dict.fromkeys(f"{one.text} at {one.place}" for one in calls)
    named = f"{' and '.join(names)} {'is' if len(names) == 1 else 'are'}"
    return cause._replace(
        source=first.site, at=event_of(runs[1], first), text=f"{cause.text} {_BETWEEN}. {named} {_NO_GRADIENT}."
    )


def _stopped(run: Run, step: int) -> list[Held]:
    return [one for one in run[0] if one.name == _STOPPED and one.step == step]
