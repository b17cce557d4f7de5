"""Finds the line of a script where two runs begin to differ, by what its names hold.

A difference of steps is followed into the loss that the step's gradients are of; any other one to the first value that
stands in no lawful way to the reference's.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Final, NamedTuple

from simstrategy.check.causes.between import with_between
from simstrategy.check.causes.decided import by_one_replica
from simstrategy.check.causes.facts import DRAWS, FACTOR, MEAN_OF_MEANS, RATE, STEPS, Cause, Finding, StepFacts
from simstrategy.check.causes.held import Held, History, Key, Run, Traced, event_of, histories
from simstrategy.check.causes.line_functions import by_function
from simstrategy.check.causes.line_kinds import is_divided, is_extreme, not_reduced, recognised_at
from simstrategy.check.causes.losses import fault_in_loss
from simstrategy.check.causes.lost import by_lost_turns, where_rows_are_lost
from simstrategy.check.causes.part_means import is_weighted
from simstrategy.check.causes.permuted import by_permuted
from simstrategy.check.causes.rates import by_rate
from simstrategy.check.causes.resumed import by_resume
from simstrategy.check.causes.spots import Fault, Spot
from simstrategy.check.causes.standing import all_near, failing_times
from simstrategy.check.causes.terms import by_terms
from simstrategy.check.causes.ways import computed_at, in_another_order
from simstrategy.check.causes.writes import WRITTEN

__all__ = ["Sides", "with_lines"]


Both = Mapping[Key, tuple[History, History]]
_UNRECOGNISED: Final = re.compile(r" The kind is not recognised(?:: .*?)?\.(?= [0-9A-Z]|$)")
"""The sentence about the numbers of a step, where the line shows a kind that they do not."""
_UNLAWFUL: Final = (
    "is neither the reference's value, nor a part of it, nor one of which it is the sum or the mean: it may begin there"
)


class Sides(NamedTuple):
    """Two runs of a script, the reference first.

    counts: their numbers of replicas. who: what they are called, None for these numbers. remarks: of the other run, by
    laws that look at one run.
    """

    reference: Traced
    other: Traced
    reference_steps: Sequence[StepFacts]
    other_steps: Sequence[StepFacts]
    counts: tuple[int, int]
    who: tuple[str, str] | None
    remarks: Sequence[str]


def with_lines(cause: Cause, sides: Sides) -> Cause:
    """Returns a cause with the line where it begins, and with the kind that its values show, where it had none.

    Clauses: G-34 to G-37, G-85 to G-88, G-90 to G-92.
    """
    if cause.source is not None or not sides.reference.held or not sides.other.held:
        return cause
    fault = _fault(cause, sides)
    if fault is None:
        number = (cause.step or 0) - 1
        if cause.step is None or number >= len(sides.other_steps):
            return cause
        return with_between(cause, (sides.reference.held, sides.other.held), sides.other_steps[number])
    if cause.kind == DRAWS and fault.is_unlike:
        return cause  # what holds such numbers is no line of the draws
    one, finding = fault.one, fault.finding
    earlier = _earlier(one, sides) if finding.kind is None else None
    alone = "" if finding.kind is not None else _alone(one, sides)
    begins = "may begin" if fault.is_unlike else "begins"
    sentences = [f"In the script it {begins} with {one.name!r} at {one.place}: {finding.reason}{alone}"]
    if earlier is not None:
        shows = f"It shows with {one.name!r} at {one.place}: {finding.reason}{alone}"
        sentences = [f"In the script {earlier.name!r} at {earlier.place} {_UNLAWFUL}{_alone(earlier, sides)}", shows]
    if finding.kind is not None and finding.kind not in (cause.kind, FACTOR if cause.kind is not None else None):
        also = "".join(f", or {kind}" for kind in finding.also)
        sentences.append(f"The kind is {finding.kind}{also}")
    sentences += [finding.remedy] if finding.remedy else []
    if sides.remarks and (finding.kind is None or "samples" in finding.kind):
        sentences.append(f"Of that run: {'; '.join(sides.remarks)}")
    text = ". ".join(sentences) + "."
    if finding.kind == RATE and cause.plain:  # a factor of an update is that of the rate
        cause = cause._replace(kind=None, text=cause.plain, also=())
    before = cause.text if finding.kind is None else _UNRECOGNISED.sub("", cause.text)
    known = cause.step is not None or cause.kind is not None or cause.what == STEPS
    return cause._replace(
        kind=cause.kind or finding.kind,
        site=cause.site or one.site,
        variable=cause.variable or one.name,
        source=cause.source or one.site,
        at=event_of(sides.other.held, one),
        earlier=None if earlier is None else earlier.site,
        text=f"{before} {text}" if known else text,
    )


def _alone(one: Held, sides: Sides) -> str:
    """Returns which replicas run the line of a value, as the rest of a sentence; "" where all of them do."""
    ran = [rank for rank, values in enumerate(sides.other.held) if any(each.site == one.site for each in values)]
    if len(ran) == len(sides.other.held):
        return ""
    verb = "alone runs" if len(ran) == 1 else "alone run"
    return f". Replica{'s' * (len(ran) > 1)} {', '.join(map(str, ran))} {verb} that line"


def _fault(cause: Cause, sides: Sides) -> Fault | None:
    """Returns the value that is wrong first, and what it shows."""
    runs = (sides.reference.held, sides.other.held)
    if sides.who is not None and (found := by_resume(*runs, sides.who)) is not None:
        return found
    if (found := by_one_replica(*runs, sides.counts)) is not None:
        return found
    if cause.step is not None:
        found = None if cause.what == WRITTEN else _of_step(cause, sides)
        if found is not None:
            return found
    elif (found := in_another_order(sides.other.held)) is not None:
        return found
    if cause.step is not None:
        # What a replica holds at the end, such as its own loss, does not change a step.
        factor = cause.factor if cause.what == "gradient" else None
        return _first_of_all(*runs, sides.counts, lambda one: one.step <= (cause.step or 0), factor)[0]
    return first_otherwise(*runs, sides.counts, lambda _: True)


def _earlier(one: Held, sides: Sides) -> Held | None:
    """Returns the first value before another one, in the order of replica 0, that stands in no lawful way."""
    held = sides.other.held[0]
    until = next((place for place, each in enumerate(held) if each is one), 0)
    before = {each.key for each in held[:until]}
    runs = sides.reference.held, sides.other.held
    # What follows from a difference in later steps is another value there, lawful as the line is.
    fault, _ = _first_of_all(*runs, sides.counts, lambda each: each.key in before and each.step <= one.step)
    if fault is None or fault.one is one:
        return None
    return fault.one if any(each is fault.one for each in held[:until]) else None


def _of_step(cause: Cause, sides: Sides) -> Fault | None:
    """Returns where the gradients of a step go wrong: in its loss, in the backward pass, or after it."""
    number = (cause.step or 0) - 1
    if number >= len(sides.reference_steps) or number >= len(sides.other_steps):
        return None
    steps = (sides.reference_steps[number], sides.other_steps[number])
    runs = (sides.reference.held, sides.other.held)
    if cause.what == "update" and (found := by_rate(*runs, steps[1].number)) is not None:
        return found
    found = computed_at(sides.other, steps[1])
    if found is not None:
        return found
    fault = fault_in_loss(runs, steps, cause.factor)
    if fault is None or fault.finding.kind is not None:
        return fault
    if fault.is_backward:
        inner = first_otherwise(*runs, sides.counts, _inside(runs, fault.one))
        return fault if inner is None else _returned(inner, fault.one)
    spot = _spot(runs, sides.counts, fault.one)
    shown = None if spot is None else is_weighted(spot) or recognised_at(spot) or by_terms(spot)
    return fault if shown is None else fault._replace(finding=shown)


def _inside(runs: tuple[Run, Run], returned: Held) -> Callable[[Held], bool]:
    """Returns whether a value was noted in a call that returned a value under the same name, in the same step."""
    frames = {
        (one.step, one.frame)
        for run in runs
        for values in run
        for one in values
        if (one.name, one.step) == (returned.name, returned.step)
    }
    return lambda one: (one.step, one.frame) in frames


def _returned(inner: Fault, one: Held) -> Fault:
    """Returns a fault inside of a function with the line at which the function returns."""
    reason = f"{inner.finding.reason}, and {one.name} returns at {one.place}"
    return inner._replace(finding=inner.finding._replace(reason=reason))


def _spot(runs: tuple[Run, Run], counts: tuple[int, int], one: Held) -> Spot | None:
    sides = [histories(run, lambda other: other.key == one.key and other.step == one.step) for run in runs]
    if one.key not in sides[0] or one.key not in sides[1]:
        return None
    return Spot(*runs, sides[0][one.key], sides[1][one.key], 0, counts, {})


def first_otherwise(
    reference: Run, other: Run, counts: tuple[int, int], wanted: Callable[[Held], bool]
) -> Fault | None:
    """Returns the first value that stands in no lawful way to the reference's, and what it shows.

    A mean over unequal parts is lawful if it is weighted later: it counts where another value follows without weights.
    """
    found_first, both = _first_of_all(reference, other, counts, wanted)
    if found_first is None or found_first.finding.kind == MEAN_OF_MEANS:
        return _at_end(reference, other, counts, both) or found_first
    return found_first


def _first_of_all(
    reference: Run, other: Run, counts: tuple[int, int], wanted: Callable[[Held], bool], factor: float | None = None
) -> tuple[Fault | None, Both]:
    """Returns the first value that stands in no lawful way to the reference's, and the values of both runs.

    factor: by which what follows from it differs; a value that is too large makes nothing too small. None if unknown.
    """
    expected, found = [histories(run, lambda one: _compares(one) and wanted(one)) for run in (reference, other)]
    both = {key: (expected[key], history) for key, history in found.items() if key in expected and history.values[0]}
    failing: list[Spot] = []
    for before, now in both.values():
        times = failing_times(before, now) if any(one.is_measured for one in now.values[0]) else iter(())
        spots = (Spot(reference, other, before, now, time, counts, both) for time in times)
        spot = next(spots, None)
        if spot is not None and not is_extreme(spot):
            failing += [one for one in chain([spot], spots) if not is_divided(one)][:1]
    return _first(sorted(failing, key=_order), factor), both


def _at_end(reference: Run, other: Run, counts: tuple[int, int], both: Both) -> Fault | None:
    """Returns the last float that replica 0 holds, where that is its own: what is printed follows from it."""
    floats = [one for one in other[0] if one.is_float and not one.attribute and one.key in both]
    if not floats:
        return None
    spot = Spot(reference, other, *both[floats[-1].key], 0, counts, both)
    finding = not_reduced(spot)
    return None if finding is None else Fault(floats[-1], finding)


def _compares(one: Held) -> bool:
    return bool(one.leaves)


def _order(spot: Spot) -> int:
    """Returns the place of the value that differs first among all values of replica 0."""
    return next(place for place, one in enumerate(spot.other[0]) if one is spot.one)


def _first(spots: Sequence[Spot], factor: float | None) -> Fault | None:
    provisional: Fault | None = None
    for spot in spots:
        if provisional is not None and all_near(provisional.one.leaves, spot.one.leaves):
            continue  # another name of the same value
        shown = recognised_at(spot)
        if shown is not None and shown.factor and factor is not None and (shown.factor > 1) != (factor > 1):
            continue
        if shown is None and not any(leaf.dtype.kind == "f" for leaf in spot.one.leaves):
            continue  # numbers of rows, ranks and the like depend on the number of replicas
        if shown is None and spot.has_other_rows:
            continue
        weighted = is_weighted(spot) if shown is None and provisional is None else None
        if weighted is not None:
            provisional = Fault(spot.one, weighted)
            continue
        if provisional is not None and shown is None:
            return _unweighted(provisional, spot.one)
        if shown is None and (permuted := by_permuted(spot)) is not None:
            return permuted
        if shown is None:
            shown = by_lost_turns(spot) or by_terms(spot) or by_function(spot)
        found = shown or Finding(None, _otherwise(spot))
        return Fault(where_rows_are_lost(spot, found) or spot.one, found, is_unlike=shown is None)
    return provisional


def _otherwise(spot: Spot) -> str:
    """Returns that a value is another one than in the reference; with both numbers, where the step has one in each."""
    one = spot.one
    there = [each for each in spot.expected.values[0] if each.step == one.step]
    here = [each for each in spot.found.values[0] if each.step == one.step]
    if len(there) != 1 or len(here) != 1 or not all(each.is_scalar and each.is_float for each in (one, *there)):
        return "it is another one than in the reference"
    found, expected = [float(each.leaves[0].reshape(-1)[0]) for each in (one, there[0])]
    return f"it is another one than in the reference, {found:.7g} on replica 0 against {expected:.7g}"


def _unweighted(provisional: Fault, one: Held) -> Fault:
    reason = f"{provisional.finding.reason}. It is not weighted in {one.name} at {one.place}"
    return provisional._replace(finding=provisional.finding._replace(reason=reason))
