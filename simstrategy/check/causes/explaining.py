"""Explains the difference of two runs: where it began, by which factor, with which parts, and of which kind."""

from collections.abc import Sequence

from simstrategy.check.causes.alignment import Pair, aligned
from simstrategy.check.causes.facts import DUPLICATED, REPEATED, Cause, Finding, PointFacts, Units
from simstrategy.check.causes.named import Named, by_names, with_place
from simstrategy.check.causes.origin import Origin, origin_of
from simstrategy.check.causes.restoring import Experiment
from simstrategy.check.causes.sources import completed, returned
from simstrategy.check.causes.varied import NO_ARGUMENTS, Arguments, recognised_in
from simstrategy.check.causes.wording import nothing_text, paragraph

__all__ = ["explain"]


def explain(
    reference: Sequence[PointFacts],
    other: Sequence[PointFacts],
    *,
    units: Units = (),
    counts: tuple[int, int],
    named: Named | None = None,
    restored: Experiment | None = None,
    steps: int = 0,
    arguments: Arguments = NO_ARGUMENTS,
) -> Cause:
    """Returns the cause of a difference between two runs of one program, from recorded values.

    reference, other: the points of both runs, in order; the reference has fewer replicas. units: for each point of the
    reference and each of its outputs [any shape], how far rounding moves it, relative to its largest element; one ulp
    where it is missing. counts: the numbers of replicas of both runs. named: the named values of the replica functions
    of both runs, where they were recorded. restored: runs the other program with the reference's result at one point,
    which shows whether its difference has an effect; None for what is recorded alone. steps: how many the other program
    makes, where not all are recorded; 0 where they are. arguments: in which both runs differ.

    A kind is named where the recorded numbers prove it, and else it is None: the text then states what was compared.
    Clauses: J-20 to J-28, J-86.

    >>> import numpy as np
    >>> whole = np.float32([0.2, 0.4])
    >>> point = PointFacts(1, "train.py:31", "all_reduce", "w", "SUM", ((whole,),), (whole,))
    >>> halves = (np.float32([0.1, 0.3]),), (np.float32([0.3, 0.5]),)
    >>> cause = explain([point], [point._replace(inputs=halves, outputs=(np.float32([0.4, 0.8]),))], counts=(1, 2))
    >>> cause.kind, cause.step, cause.site, cause.variable, cause.factor
    ('sum of means', 1, 'train.py:31', 'w', 2.0)
    """
    reference, other = [[_of_numbers(point) for point in points] for points in (reference, other)]
    pairs = completed(aligned(reference, other, units, counts), counts)
    origin = origin_of(pairs, reference, other, counts, named, restored)
    if origin is None:
        return Cause(None, None, None, None, None, nothing_text(pairs), certain=False)
    origin = origin._replace(scene=origin.scene._replace(made=steps))
    finding = recognised_in(origin.scene, arguments.numbers)
    if named is not None and (finding is None or DUPLICATED in finding.also):
        finding = by_names(origin.scene, named) or finding
    if named is not None and finding is not None and finding.kind == REPEATED:
        finding = with_place(finding, origin.scene, named)
    if finding is not None and not origin.sure:
        finding = None
    return _cause(pairs, origin, finding, counts, arguments)


def _cause(
    pairs: Sequence[Pair], origin: Origin, finding: Finding | None, counts: tuple[int, int], arguments: Arguments
) -> Cause:
    point = origin.scene.one.other
    place = point if point.what != "result" else returned(pairs, origin.scene.one) or point
    return Cause(
        kind=None if finding is None else finding.kind,
        step=place.step,
        site=place.site,
        what=point.what,
        variable=_variable(origin),
        text=paragraph(origin, finding, counts, _before(pairs, origin), arguments.names),
        certain=finding is not None and finding.kind is not None,
        factor=None if finding is None else finding.factor,
        also=() if finding is None else finding.also,
        source=None if finding is None else finding.source,
        number=place.number if place.number >= 0 else None,
    )


def _of_numbers(point: PointFacts) -> PointFacts:
    """Returns a point without its values, where one is no number, such as a text; it keeps its place."""
    leaves = (*point.outputs, *point.before, *[leaf for term in point.inputs for leaf in term])
    if all(leaf.dtype.kind in "biufc" or leaf.dtype.name == "bfloat16" for leaf in leaves):
        return point
    return point._replace(inputs=(), outputs=(), before=())


def _variable(origin: Origin) -> str | None:
    """Returns the name of the variable that differs: of the kept value, where that is a variable."""
    point = origin.scene.one.other
    if origin.kept is None or origin.kept.other is None or origin.kept.other.what == "result":
        return point.subject
    return origin.kept.other.subject


def _before(pairs: Sequence[Pair], origin: Origin) -> PointFacts | None:
    """Returns a point before the origin that one run alone has, in the same step; None where there is none."""
    for pair in pairs:
        if pair.other is origin.scene.one.other:
            return None
        point = pair.reference or pair.other
        if pair.one is None and point is not None and point.step == origin.scene.one.other.step:
            return point
    return None
