"""States what is written to parameters between two steps of an optimizer."""

from typing import Final

import numpy as np

from simstrategy.check.causes.facts import Host, StepFacts

__all__ = ["WRITTEN", "between_text"]

WRITTEN: Final = "write after the update"
"""What differs where parameters agree right after a step and not before the next one."""


def between_text(
    step: StepFacts, reference: StepFacts | None = None, *, as_mean: bool = False, site: str | None = None
) -> str:
    """Returns a sentence on what writes parameters after a step, in either of two runs.  Clause: G-93.

    as_mean: whether the replicas' parameters are not equal there, and have the reference's as their mean. site: of the
    line that writes them; None where it is not known.

    >>> zero, one = ((np.zeros(1),),), ((np.ones(1),),)
    >>> step = StepFacts(1, "train.py:9", "train.py:8", ("w",), zero, zero, (), one, made=zero, until="step 2")
    >>> between_text(step)
    'It begins between step 1 and step 2: right after step 1 at train.py:9 the parameters agree.'
    """
    until = step.until or (reference.until if reference is not None else "")
    alone = ""
    if not step.until:
        alone = " The reference alone writes parameters there"
    elif 0 < len(ranks := _writers(step)) < len(step.after):
        alone = f" Replica{'s' * (len(ranks) > 1)} {', '.join(map(str, ranks))} alone write"
        alone += f"{'s' * (len(ranks) == 1)} parameters there"
    begin = f"It begins between step {step.number} and {until}: right after step {step.number} at {step.site} the "
    agree = "mean of the replicas' parameters is the reference's" if as_mean else "parameters agree"
    line = "" if site is None else f" What they have then is written at {site}."
    return f"{begin}{agree}.{alone and alone + '.'}{line}"


def _writers(step: StepFacts) -> list[int]:
    """Returns the replicas of which parameters are written between a step and the next values."""
    pairs = enumerate(zip(step.made, step.after, strict=True))
    return [rank for rank, both in pairs if any(_differ(one, two) for one, two in zip(*both, strict=True))]


def _differ(one: Host, two: Host) -> bool:
    return not np.array_equal(one, two, equal_nan=True)
