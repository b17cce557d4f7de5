"""Where the replicas of one run go different ways: gradients that nothing combines, lines that one alone runs."""

from collections.abc import Collection, Sequence
from typing import Final

import numpy as np

from simstrategy.check.causes.alone import begun_alone, with_state_given_alone, written_at
from simstrategy.check.causes.facts import (
    CLIPPING,
    DRAWS,
    MISSING_REDUCTION,
    OTHER_CALLS,
    OTHER_EFFECTS,
    Cause,
    Finding,
    Host,
    StepFacts,
)
from simstrategy.check.causes.held import Held, Run, Traced, event_of, is_near
from simstrategy.check.causes.rates import rates_apart
from simstrategy.check.causes.rounding import wide
from simstrategy.check.causes.spots import Fault
from simstrategy.check.causes.writes import WRITTEN, between_text

__all__ = ["BYPASSED", "computed_at", "in_another_order", "ways_apart"]

BYPASSED: Final = "forward pass without DistributedDataParallel"
"""The name under which a rank notes a module that is called past its wrapper."""
_FLAG: Final = "DistributedDataParallel.require_backward_grad_sync"
_REMEDY: Final = "Average the gradients over the replicas before the step"


def ways_apart(traced: Traced, steps: Sequence[StepFacts]) -> Cause | None:
    """Returns why the replicas of a run do not have the same after a step; None where that is not known.

    Parameters with which the replicas begin differently are left out, unless all are such. Clause: G-93.
    """
    if not steps or len(steps[0].before) < 2:
        return None
    alone = next(((step, found) for step in steps if (found := begun_alone(traced, step)) is not None), None)
    if alone is None and not _shared(steps[0]):
        alone = steps[0], Finding(DRAWS, "the replicas begin with other values", "Give all of them the values of one")
    if alone is not None:
        return _cause(alone[0], None, alone[1])
    for step in steps:
        if _apart(step, step.gradients):
            fault = computed_at(traced, step)
            plain = Finding(MISSING_REDUCTION, "the replicas' gradients are not equal", _REMEDY)
            at = None if fault is None else event_of(traced.held, fault.one)
            return _cause(step, fault, plain)._replace(at=at)
        if step.made and _apart(step, step.after) and not _apart(step, step.made):
            site = written_at(traced, step)
            text = between_text(step, site=site)
            return Cause(None, step.number, None, WRITTEN, None, text, certain=False, source=site)
        if _apart(step, step.after):
            fault = rates_apart(traced.held, step.number)
            at = None if fault is None else event_of(traced.held, fault.one)
            plain = with_state_given_alone(Finding(None, OTHER_EFFECTS), traced, step)
            return _cause(step, fault, plain)._replace(at=at)
    return None


def computed_at(traced: Traced, step: StepFacts) -> Fault | None:
    """Returns the first value that a replica has as the gradient of a step, where the gradients are not equal.

    Else what DistributedDataParallel has not prepared; None where neither is known, and where the gradients are equal.
    """
    apart = _apart(step, step.gradients)
    if not apart:
        return None
    prepared = _not_prepared(traced.held[0], step.number)
    if prepared is not None:
        return prepared
    wanted = {leaves[number].tobytes() for leaves in step.gradients for number in apart if leaves[number].size > 1}
    alone = _alone(traced, step, wanted)
    if alone is not None:
        return alone
    for one in traced.held[0]:
        if one.step == step.number and any(leaf.tobytes() in wanted for leaf in one.leaves):
            reason = "each replica has a gradient of its own, which is not averaged over the replicas before the step"
            return Fault(one, Finding(MISSING_REDUCTION, reason, _REMEDY))
    return None


def _shared(step: StepFacts) -> list[int]:
    """Returns which parameters all replicas have alike before a step."""
    return [number for number in range(len(step.names)) if _is_equal(step.before, number)]


def _apart(step: StepFacts, values: Sequence[tuple[Host, ...]]) -> list[int]:
    """Returns of which parameters that all replicas have alike some values are not equal."""
    return [number for number in _shared(step) if not _is_equal(values, number)]


def _is_equal(values: Sequence[tuple[Host, ...]], number: int) -> bool:
    return all(is_near(values[0][number], other[number]) for other in values[1:])


def in_another_order(run: Run) -> Fault | None:
    """Returns a collective call that the replicas make for texts, such as keys, in different orders."""
    if len(run) < 2:
        return None
    texts: list[dict[tuple[str, str], list[str]]] = [{} for _ in run]
    for rank, values in enumerate(run):
        for one in values:
            if one.text and not one.attribute and "." not in one.name and one.text != one.name:
                texts[rank].setdefault((one.site, one.name), []).append(one.text)
    for (site, name), first in texts[0].items():
        others = [found.get((site, name), []) for found in texts[1:]]
        if all(sorted(one) == sorted(first) for one in others) and any(one != first for one in others):
            return _called_for(run, site, name)
    return None


def _called_for(run: Run, site: str, name: str) -> Fault | None:
    """Returns the first call for which a name holds other texts on the replicas."""
    held: list[list[tuple[str, Held]]] = []
    for values in run:
        text, found = "", []
        for one in values:
            if (one.site, one.name) == (site, name):
                text = one.text
            elif one.text == one.name and text:
                found.append((text, one))
        held.append(found)
    for calls in zip(*held, strict=False):
        if len({text for text, _ in calls}) > 1:
            listed = ", ".join(f"{text!r} on replica {rank}" for rank, (text, _) in enumerate(calls[:4]))
            reason = f"the replicas make this call for different things: {name} is {listed}"
            remedy = "These are different collective calls that match by their order: give all replicas one order"
            return Fault(calls[0][1], Finding(OTHER_CALLS, reason, remedy))
    return None


def _not_prepared(values: Sequence[Held], step: int) -> Fault | None:
    """Returns why DistributedDataParallel reduced no gradients in a step, if its last forward pass shows it."""
    flag: Held | None = None
    in_forward: Held | None = None
    for one in values:
        if one.step > step:
            break
        if one.name == BYPASSED and one.step == step:
            reason = (
                f"{one.text} is called here and not DistributedDataParallel, which wraps it, so its gradients are not "
                f"averaged"
            )
            return Fault(one, Finding(MISSING_REDUCTION, reason, "Call the wrapper"))
        if one.attribute == _FLAG:
            flag = one
        elif one.is_graded and one.step == step:
            in_forward = flag
    if in_forward is None or in_forward.leaves[0].all():
        return None
    reason = (
        "it is False in the last forward pass before the step, so the gradients of the backward pass that follows are "
        "not averaged"
    )
    return Fault(in_forward, Finding(MISSING_REDUCTION, reason, "Let the last backward pass of a step average"))


def _alone(traced: Traced, step: StepFacts, wanted: Collection[bytes]) -> Fault | None:
    """Returns the first of some arrays that one replica sets in a step and others do not, and where they part."""
    sets = [{(one.site, one.name) for one in values if one.step == step.number} for values in traced.held]
    for rank, values in enumerate(traced.held):
        others = [found for number, found in enumerate(sets) if number != rank]
        for one in values:
            is_alone = one.step == step.number and not any((one.site, one.name) in found for found in others)
            if is_alone and any(leaf.tobytes() in wanted for leaf in one.leaves):
                branch = _branch(traced, rank, one, step.number)
                where = "" if branch is None else f", after {branch}, where the replicas go different ways"
                kind, what = _scaled(step, rank, _apart(step, step.gradients))
                reason = f"replica {rank} alone changes it{where}{what}"
                return Fault(one, Finding(kind, reason, "Let all replicas do the same"))
    return None


def _branch(traced: Traced, rank: int, one: Held, step: int) -> str | None:
    """Returns the last line before a value that the other replicas ran too."""
    ran = [[line for line, number in lines if number == step] for lines in traced.lines]
    if rank >= len(ran) or one.site not in ran[rank]:
        return None
    others = [set(lines) for number, lines in enumerate(ran) if number != rank]
    for line in reversed(ran[rank][: ran[rank].index(one.site)]):
        if all(line in lines for lines in others):
            return line
    return None


def _scaled(step: StepFacts, rank: int, apart: Sequence[int]) -> tuple[str | None, str]:
    """Returns kind and text for gradients that are one number times those of another replica.

    apart: the numbers of the gradients that are not equal.
    """
    other = 1 if rank == 0 else 0
    pairs = [[wide(step.gradients[one][number]).reshape(-1) for one in (rank, other)] for number in apart]
    mine, theirs = [np.concatenate(found) for found in zip(*pairs, strict=True)]
    size = float(theirs @ theirs)
    k = float(mine @ theirs) / size if size else 0.0
    if not k or not is_near(theirs * k, mine):
        return None, ""
    return CLIPPING, f". Its gradients are {k:.4g} times those of replica {other}, as if they were clipped there alone"


def _cause(step: StepFacts, fault: Fault | None, plain: Finding) -> Cause:
    finding = plain if fault is None else fault.finding
    where = f"in step {step.number} at {step.site}: "
    if fault is not None:
        where += f"it begins with {fault.one.name!r} at {fault.one.place}: "
    kind = "" if finding.kind is None else f" The kind is {finding.kind}."
    remedy = f" {finding.remedy}." if finding.remedy else ""
    text = f"{where}{finding.reason}.{kind}{remedy}"
    site = finding.source or step.site if fault is None else fault.one.site
    return Cause(finding.kind, step.number, site, None, None, text, certain=False, source=site)
