"""Why two runs of a script differ, from their recorded steps and from what its names hold."""

from collections.abc import Callable, Sequence

from simstrategy.check.causes.facts import Cause, StepFacts
from simstrategy.check.causes.held import unlike_in
from simstrategy.check.causes.lines import Sides, with_lines
from simstrategy.check.causes.steps import explain_steps
from simstrategy.check.causes.varied import Arguments
from simstrategy.check.scripts.facts import ScriptRun
from simstrategy.check.scripts.inputs import is_shared_out

__all__ = ["cause_of"]


def cause_of(
    one: ScriptRun,
    other: ScriptRun,
    again: Callable[[], ScriptRun],
    *,
    nudged: Sequence[Sequence[StepFacts]],
    counts: tuple[int, int],
    given: Arguments,
) -> Cause:
    """Returns why two recorded runs differ.  nudged: the steps of nudged runs.

    again: repeats the first run. What it holds otherwise then, such as times, makes no difference of what is trained: a
    line whose values show no kind is none of these. Clause: G-112.
    """
    shared_out = is_shared_out(one.inputs, other.inputs)
    cause = explain_steps(
        one.steps,
        other.steps,
        nudged=nudged,
        counts=counts,
        arguments=given,
        shared_out=shared_out,
        traced=other.traced,
    )
    sides = Sides(one.traced, other.traced, one.steps, other.steps, counts, given.names, other.remarks)
    found = with_lines(cause, sides)
    is_shown = cause.kind is None and found.kind is not None and found.earlier is None
    if found.source is None or found is cause or is_shown:
        return found
    keys = unlike_in(one.traced.held, again().traced.held)
    if not keys:
        return found
    reference, differing = one.traced.without(keys), other.traced.without(keys)
    return with_lines(cause, sides._replace(reference=reference, other=differing))
