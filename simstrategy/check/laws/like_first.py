"""What the laws share that compare a run with the reference at the same number of replicas."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from simstrategy.check.across import Side, compare_across
from simstrategy.check.left_over import judged_without
from simstrategy.check.meaning import meaning_of
from simstrategy.check.outcome import Outcome
from simstrategy.check.row import Row
from simstrategy.check.rows import if_repeatable, row_of_values
from simstrategy.check.runs import Measured, Runs

__all__ = ["like_first"]


def _as_it_is(outcome: Outcome) -> Outcome:
    return outcome


def like_first(
    study: Runs,
    count: int,
    other: Outcome,
    row: Row,
    names: tuple[str, str],
    part: Callable[[Outcome], Outcome] = _as_it_is,
    arguments: Mapping[str, Any] | None = None,
) -> Row:
    """Returns a law's row with what came of comparing a run with the reference run.

    count: the number of replicas of both. names: what the two runs are called, the reference first. part:
    returns what is compared of an outcome of the reference. arguments: with which the other run can be made again.
    """
    found = study.measured(count)
    if not found.repeatable:
        return if_repeatable(row, repeatable=False)
    errors = (found.first.error, other.error)
    if errors != (None, None):
        texts = [
            f"{name} {'gives a result' if error is None else f'raises {error[0]}: {error[1]}'}"
            for name, error in zip(names, errors, strict=True)
        ]
        if errors[0] != errors[1]:
            return row._replace(raised=True, problem=", ".join(texts))
        if study.settings.allow_errors:
            return row._replace(raised=True, compared=1)
        return row._replace(raised=True, undecided=f"there is no result to compare: {texts[0]}", why="it raises")

    # Nudged runs belong to the run that they nudge: the other one's distance to them is what is to be judged.
    def beside(measured: Measured) -> tuple[Side, Side]:
        moved = [meaning_of(part(one)) for one in measured.nudged]
        one = Side(count, meaning_of(part(measured.first)), moved, measured.first)
        return one, Side(count, meaning_of(other), (), other)

    counts, exempt = (count, count), study.settings.exempt
    across = compare_across(*beside(found), exempt)
    differing = {*across.problems}
    again = study.with_moved_sums(counts) if across.problems else None
    if again is not None:
        found = again[0]
        across = compare_across(*beside(found), exempt)
    if arguments is not None:
        left = partial(study.left_over, counts, arguments)
        across = judged_without(beside(found), exempt, across, left, but=differing)
    return row_of_values(row, across, study.settings.nothing)
