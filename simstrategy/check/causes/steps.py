"""Explains the difference of two runs of a program whose library has optimizers: step by step, by gradients.

What an optimizer changes follows from its gradients, so no experiment is needed: the first step after which parameters
differ has other gradients, or began with other parameters, or applied equal gradients otherwise. The kinds are those of
`kinds.py`, recognised on the gradients and on what collectives combined of them.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from simstrategy.check.causes.again import by_turns
from simstrategy.check.causes.alignment import Pair, paired
from simstrategy.check.causes.alone import begun_alone, with_state_given_alone, written_at
from simstrategy.check.causes.beginnings import begins_otherwise
from simstrategy.check.causes.combination import differing
from simstrategy.check.causes.facts import (
    OTHER_EFFECTS,
    STEPS,
    Cause,
    Finding,
    Host,
    Leaves,
    PointFacts,
    StepFacts,
)
from simstrategy.check.causes.held import Traced
from simstrategy.check.causes.local_steps import are_averaged, change, not_combined
from simstrategy.check.causes.origin import Origin
from simstrategy.check.causes.rounding import unit_of, varies, wide
from simstrategy.check.causes.scene import Scene
from simstrategy.check.causes.step_shapes import of_one_shape
from simstrategy.check.causes.step_sums import are_combined, combined_of, multiple_of
from simstrategy.check.causes.varied import NO_ARGUMENTS, Arguments, recognised_in
from simstrategy.check.causes.wording import paragraph
from simstrategy.check.causes.writes import WRITTEN, between_text
from simstrategy.check.distances import distances

__all__ = ["explain_steps"]

_KEPT: Final = ("initial value", "update", "assign")
"""Values of a step that ranks have alike."""

Steps = Sequence[StepFacts]
NOT_TRACED: Final = Traced()


class _Sides(NamedTuple):
    """Two runs, the reference first.  nudged: the reference with its inputs moved. are_meant: as of a `Scene`."""

    reference: Steps
    other: Steps
    nudged: Sequence[Steps]
    counts: tuple[int, int]
    arguments: Arguments
    are_meant: bool
    traced: Traced


def explain_steps(
    reference: Steps,
    other: Steps,
    *,
    nudged: Sequence[Steps] = (),
    counts: tuple[int, int],
    arguments: Arguments = NO_ARGUMENTS,
    shared_out: bool = False,
    traced: Traced = NOT_TRACED,
) -> Cause:
    """Returns the cause of a difference between two runs, from the steps of their optimizers.

    nudged: runs of the reference with inputs moved by one ulp, which measure rounding. counts: the numbers of replicas
    of both runs. arguments: in which they differ. shared_out: whether the replicas of both runs are known to begin with
    rows as they should: parts of their own, or the reference's whole ones. traced: of the other run. Clauses: G-27,
    G-28, G-93, G-101.

    >>> step = StepFacts(1, "train.py:9", "train.py:8", ("w",), *[((np.float32([1.0, 3.0]),),)] * 4)
    >>> half = (np.float32([0.5, 1.5]),)
    >>> twice = step._replace(gradients=(half, half), terms=(), after=((np.float32([1.5, 2.0]),),) * 2)
    >>> cause = explain_steps([step], [twice], counts=(1, 2))
    >>> cause.kind, cause.step, cause.variable, cause.site
    ('divided by the number of replicas once too often', 1, 'w', 'train.py:8')
    """
    if reference and other and reference[0].names == other[0].names:
        reference, other, *nudged = of_one_shape([reference, other, *nudged])
    are_meant = shared_out and bool(other) and _are_alike(other[0])
    sides = _Sides(reference, other, nudged, counts, arguments, are_meant, traced)
    for number, (one, two) in enumerate(zip(reference, other, strict=False)):
        if one.names != two.names:
            return Cause.unknown(f"step {two.number} has other parameters than in the reference")
        begun = _pair(sides, number, "initial value")
        if begun.differs:
            return _begun(sides, number, begun)
        if _pair(sides, number, "assign").differs:
            return _between(sides, number) or _of_step(sides, number)
    if not other:
        return Cause.unknown("no step is recorded that all replicas make with the same parameters")
    if len(reference) != len(other):
        text = f"All steps that both runs make agree. One makes {len(other)}, and the reference {len(reference)}."
        return Cause(None, None, None, STEPS, None, text, certain=False)
    return Cause.unknown(
        "the parameters agree after every step, up to rounding" if reference else "no step is recorded"
    )


def _begun(sides: _Sides, number: int, pair: Pair) -> Cause:
    """Returns the cause of a step that begins with other parameters."""
    step = sides.other[number]
    if (alone := begun_alone(sides.traced, step)) is not None:
        return _cause(sides, number, pair, alone)._replace(source=alone.source)
    return _cause(sides, number, pair, begins_otherwise(pair, sides.counts) if step.number == 1 else None)


def _are_alike(step: StepFacts) -> bool:
    """Returns whether some replicas compute the same gradients in a step."""
    terms = step.terms or step.gradients
    return len({b"".join(leaf.tobytes() for leaf in leaves) for leaves in terms}) < len(terms)


def _of_step(sides: _Sides, number: int) -> Cause:
    """Returns the cause of a step that begins with equal parameters and ends with others."""
    gradients = _pair(sides, number, "gradient")
    if (finding := not_combined(sides.other[number], sides.reference[number])) is not None:
        return _cause(sides, number, gradients, finding)
    if not gradients.differs:
        update = _pair(sides, number, "update")
        assert update.other is not None
        if update.other.own:  # what one replica alone has otherwise is no factor of their number
            finding = with_state_given_alone(Finding(None, OTHER_EFFECTS), sides.traced, sides.other[number])
            return _cause(sides, number, update, finding)._replace(source=finding.source)
        return _cause(sides, number, update, _recognised(sides, update))
    if (finding := by_turns(sides.other[number], sides.reference[number])) is not None:
        return _cause(sides, number, gradients, finding)
    combined = _of_calls(sides, number)
    for pair in (combined, gradients):
        finding = None if pair is None else _recognised(sides, pair)
        if pair is not None and finding is not None and finding.kind is not None:
            return _cause(sides, number, pair, finding)
    return _cause(sides, number, gradients, _recognised(sides, gradients))


def _between(sides: _Sides, number: int) -> Cause | None:
    """Returns the cause where the parameters agree right after a step, and something else writes them before the next.

    Clause: G-93.
    """
    step = sides.other[number]
    if not (step.made or sides.reference[number].made):
        return None
    as_mean = are_averaged(step, sides.reference[number])
    if not as_mean and _pair(sides, number, "made").differs:
        return None
    pair = _pair(sides, number, "update")
    assert pair.other is not None
    finding = None if pair.other.own else _recognised(sides, pair)
    if finding is None or finding.kind is None:
        pair, finding = _pair(sides, number, "assign"), Finding(None, "something else than the optimizer writes it")
    assert pair.other is not None
    cause = _cause(sides, number, pair._replace(other=pair.other._replace(site="", what=WRITTEN)), finding)
    site = written_at(sides.traced, step)
    text = between_text(step, sides.reference[number], as_mean=as_mean, site=site)
    return cause._replace(site=None, source=site, text=f"{cause.text} {text}")


def _pair(sides: _Sides, number: int, what: str) -> Pair:
    """Returns one value of a step of both runs.  what: "initial value", "gradient", "update", or "assign"."""
    one, two = sides.reference[number], sides.other[number]
    reference = _point(one, what, _values(one, what)[0])
    moved = [
        _values(run[number], what)[0] for run in sides.nudged if number < len(run) and run[number].names == one.names
    ]
    units = [_unit(leaf, [leaves[place] for leaves in moved]) for place, leaf in enumerate(reference.outputs)]
    return paired(reference, _point(two, what, _farthest(_values(two, what), reference.outputs)), units, sides.counts)


def _point(step: StepFacts, what: str, outputs: Leaves) -> PointFacts:
    values = _values(step, what)
    inputs = step.terms if what == "gradient" and step.terms else values
    own = len(values) > 1 and varies(values, ())
    site = step.gradient_site if what == "gradient" else step.site
    # What a gradient has too much may be a multiple of the parameter.
    before = step.before[0] if what == "gradient" else ()
    names = "\n".join(step.names)
    point = PointFacts(step.number, site, what, names, None, inputs, outputs, kept=what == "assign", own=own)
    return point._replace(before=before)


def _values(step: StepFacts, what: str) -> tuple[Leaves, ...]:
    """Returns for each replica the arrays of a value of the step."""
    if what == "initial value":
        return step.before
    if what == "gradient":
        return step.gradients
    if what == "assign":
        return step.after
    if what == "made":
        return step.made or step.after
    return tuple(change(before, after) for before, after in zip(step.before, step.after, strict=True))


def _farthest(values: tuple[Leaves, ...], expected: Leaves) -> Leaves:
    """Returns the arrays of the replica that is farthest from the reference: of the first one, where all are equal."""

    def distance(leaves: Leaves) -> float:
        pairs = [(one, two) for one, two in zip(expected, leaves, strict=False) if one.shape == two.shape]
        return max([distances(one, two)[0] for one, two in pairs if one.dtype == two.dtype], default=0.0)

    return max(values, key=distance) if len(values) > 1 else values[0]


def _unit(leaf: Host, moved: Sequence[Host]) -> float:
    alike = [one for one in moved if one.shape == leaf.shape and one.dtype == leaf.dtype]
    found = [distances(leaf, one)[0] for one in alike]
    return max([unit_of(leaf), *[one for one in found if np.isfinite(one)]])


def _of_calls(sides: _Sides, number: int) -> Pair | None:
    """Returns what sums and means combined of the gradients of a step, beside what the reference would give there."""
    point = combined_of(sides.other[number])
    if point is None:
        return None
    names = sides.other[number].names
    places = [names.index(name) for name in (point.subject or "").split("\n")]
    expected, found = sides.reference[number].gradients[0], sides.other[number].gradients[0]
    scales = [multiple_of(out, found[place]) for out, place in zip(point.outputs, places, strict=True)]
    leaves = tuple(
        [
            (wide(expected[place]) / (scale or 1.0)).astype(out.dtype)
            for out, place, scale in zip(point.outputs, places, scales, strict=True)
        ]
    )
    if [leaf.shape for leaf in leaves] != [leaf.shape for leaf in point.outputs]:
        return None
    whole = _pair(sides, number, "gradient").one
    units = [0.0] * len(places) if whole is None else [whole.units[place] for place in places]
    pair = paired(point._replace(inputs=(leaves,), outputs=leaves), point, units, sides.counts)
    return pair if pair.differs else None


def _recognised(sides: _Sides, pair: Pair) -> Finding | None:
    assert pair.one is not None
    one = pair.one
    points = [*_points(sides.reference, one.reference)], [*_points(sides.other, one.other)]
    scene = Scene(one, points[0], points[1], are_meant=sides.are_meant)
    return recognised_in(scene, sides.arguments.numbers)


def _points(run: Steps, itself: PointFacts) -> Iterator[PointFacts]:
    """Yields the point of every step that is like one of them.

    What is combined is there itself, so that nothing of the step comes before it: equal terms show equal samples. A
    gradient that nothing combines is equal where ranks have one batch by design, as with parts of a layer on each.
    Parameters, and what optimizers make of gradients, are equal on all ranks in any program that is right.
    """
    what = itself.what
    for step in run:
        is_combined = are_combined(step) if what == "gradient" else what not in _KEPT
        if step.number == itself.step and is_combined:
            yield itself
        elif what in ("gradient", *_KEPT):
            yield _point(step, what, _values(step, what)[0])
        elif (point := combined_of(step)) is not None:
            yield point


def _cause(sides: _Sides, number: int, pair: Pair, finding: Finding | None) -> Cause:
    assert pair.one is not None
    assert pair.other is not None
    step = sides.other[number]
    numbers = differing(pair.one)
    names = (pair.other.subject or "\n".join(step.names)).split("\n")
    variable = names[numbers[0]] if numbers else None
    point = pair.other._replace(subject=variable)
    one = pair.one._replace(other=point)
    origin = Origin(Scene(one, (point,), (point,)), None, sure=True)
    last = next((call for call in reversed(step.calls) if call.site), None)
    more = f" {len(numbers)} of {len(names)} parameters differ there." if len(names) > 1 else ""
    if last is not None and pair.other.what not in ("initial value", WRITTEN):
        op = f" {last.op}" if last.op else ""
        more += f" The last collective before this step's update is {last.what}{op} at {last.site}."
    leaf = numbers[0] if numbers else None

    def text_of(shown: Finding | None) -> str:
        return paragraph(origin, shown, sides.counts, None, sides.arguments.names, leaf=leaf) + more

    return Cause(
        kind=None if finding is None else finding.kind,
        step=step.number,
        site=point.site,
        what=point.what,
        variable=variable,
        text=text_of(finding),
        certain=finding is not None and finding.kind is not None,
        factor=None if finding is None else finding.factor,
        also=() if finding is None else finding.also,
        plain=text_of(None) if point.what == "update" else "",
    )
