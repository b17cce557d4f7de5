"""Makes the rows of a report: the reference's, and one for each run that is compared with it."""

from collections.abc import Sequence
from math import isfinite
from typing import Final

from simstrategy.check.across import Across
from simstrategy.check.compare import Comparison, Sensitivity, compare, exactly
from simstrategy.check.exempt import name_of, pattern_of
from simstrategy.check.outcome import Outcome
from simstrategy.check.row import Row
from simstrategy.schedules import InOrder, Schedule
from simstrategy.trace import first_difference

__all__ = [
    "NOT_REPEATABLE",
    "NOT_SEEDED",
    "first_not_finite",
    "if_repeatable",
    "largest",
    "law_row",
    "not_judged",
    "reference_row",
    "row_of_values",
    "run_row",
]

_NAMED_MAX: Final = 4
"""The most values that a finding names."""

NOT_REPEATABLE: Final = (
    "gives different values in two identical runs, so it cannot be checked "
    "(does it use a random number without a seed, what the run before has changed, or memory that nothing has written?)"
)

NOT_SEEDED: Final = (
    "the program gives different values in two identical runs: seed the generators that it draws from, where it begins"
)


def reference_row(
    name: str,
    replicas: str,
    reference: Sequence[Outcome],
    again: Sequence[Outcome],
    one_ulp: Sequence[Sensitivity],
    *,
    allow_errors: bool,
) -> Row:
    """Returns the row of the run that the others are compared with.

    reference, again: the outcomes of two identical runs, one for each worker. one_ulp: of each worker, how far its
    leaves move with the inputs. The row has a problem where a group-call is wrong, and where the program raises. Where
    the two runs differ, nothing can be judged.
    """
    problem: str | None = None
    undecided: str | None = None
    for one, other in zip(reference, again, strict=True):
        found = compare(one, other, exactly(one))
        if undecided is None and not found.equal_bits:
            undecided = f"{NOT_REPEATABLE}: {found.problem}"
        if problem is None and one.wrong_call is not None:
            problem = one.wrong_call
    raised = [outcome for outcome in reference if outcome.error is not None]
    if raised and problem is None and undecided is None and not allow_errors:
        kind, text = raised[0].error or ("", "")
        problem = "\n".join([f"raises {kind}: {text}", *raised[0].notes])
    return Row(
        backend=name,
        replicas=replicas,
        schedule=InOrder.name,
        law="repeat",
        reference=True,
        equal_bits=True,
        distance=0.0,
        one_ulp=largest(one_ulp),
        events=sum(len(outcome.events) for outcome in reference),
        trace_compared=False,
        problem=problem,
        raised=bool(raised),
        not_finite=first_not_finite(reference),
        undecided=undecided if problem is None else None,
        why="not repeatable" if undecided is not None else "",
    )


def if_repeatable(row: Row, *, repeatable: bool) -> Row:
    """Returns a row as it is, or as one that is not judged because the reference's two runs differ."""
    return row if repeatable else row._replace(problem=None, undecided=NOT_SEEDED, why="not repeatable")


def run_row(
    name: str,
    replicas: str,
    schedule: Schedule,
    reference: Sequence[Outcome],
    outcomes: Sequence[Outcome],
    one_ulp: Sequence[Sensitivity],
) -> Row:
    """Returns the row of a run, compared with the reference worker by worker.  One process is one worker."""
    in_order = isinstance(schedule, InOrder)
    worst = Comparison(True, 0.0, 0.0, None)
    ordered = in_order and len(reference) == 1
    problem: str | None = None
    undecided: str | None = None
    for worker, (one, other, units) in enumerate(zip(reference, outcomes, one_ulp, strict=True)):
        found = compare(one, other, units, ordered=ordered)
        text = found.problem
        if other.wrong_call is not None:
            text = other.wrong_call if text is None else f"{other.wrong_call}; in the end, {text}"
        difference = first_difference(one.events, other.events) if in_order else None
        if text is None and difference is not None:
            text = f"traces differ at {difference}"
        who = f"worker {worker}: " if len(reference) > 1 else ""
        if problem is None and text is not None:
            problem = who + text
        if undecided is None and found.undecided is not None:
            undecided = who + found.undecided
        worst = _worse(worst, found)
    return Row(
        backend=name,
        replicas=replicas,
        schedule=schedule.name,
        compared=max(1, sum(len(outcome.leaves) - len(_partly(outcome)) for outcome in outcomes)),
        not_compared=tuple(dict.fromkeys(text for outcome in outcomes for text in _partly(outcome))),
        reference=False,
        equal_bits=worst.equal_bits,
        distance=worst.distance,
        one_ulp=worst.one_ulp,
        events=sum(len(outcome.events) for outcome in outcomes),
        trace_compared=in_order,
        problem=problem,
        raised=any(outcome.error is not None for outcome in outcomes),
        not_finite=first_not_finite(outcomes),
        undecided=undecided if problem is None else None,
    )


def law_row(law: str, backend: str, runs: str, schedule: str = InOrder.name) -> Row:
    """Returns the row of a law, without a result.

    runs: the two runs that it compares, as in ``3 against 1``. schedule: the order of their replicas, or a setting.
    """
    return Row(
        backend=backend,
        replicas=runs,
        schedule=schedule,
        reference=False,
        equal_bits=False,
        distance=0.0,
        one_ulp=0.0,
        events=0,
        trace_compared=False,
        problem=None,
        law=law,
        compared=0,
    )


def not_judged(row: Row, why: str, text: str, *, asked: bool) -> Row:
    """Returns the row of a law that cannot judge.  why: in a few words. text: a sentence, with what to do.

    asked: whether the law was asked for by name. If so, the check is undecided; else the row has a remark.
    """
    text = f"the law of {row.law}: {text}"
    return row._replace(undecided=text, why=why) if asked else row._replace(not_compared=(text,), why=why)


def row_of_values(row: Row, found: Across, nothing: str) -> Row:
    """Returns a law's row with what came of the comparison of its values.

    nothing: why there may have been nothing to compare, as a sentence.
    """
    problem = undecided = None
    why = ""
    if found.problems:
        texts = [f"{path}: {text}" for path, text in found.problems.items()]
        more = [f"  {text}" for text in texts[1:_NAMED_MAX]]
        if len(texts) > _NAMED_MAX:
            more.append(f"  … and {len(texts) - _NAMED_MAX} more")
        problem = "\n".join([texts[0], *more])
    elif found.undecided:
        undecided = _undecided(found)
    elif not found.values:
        why = "nothing to compare"
        left = [f"{path}: {text}" for path, text in found.left.items()] or ["all values are exempt"] * bool(
            found.exempt
        )
        undecided = f"nothing was compared: {'; '.join(left[:_NAMED_MAX]) or nothing}"
    return row._replace(
        equal_bits=found.worst.equal_bits,
        distance=found.worst.distance,
        one_ulp=found.worst.one_ulp,
        problem=problem,
        undecided=undecided,
        compared=found.values,
        not_compared=tuple(f"{path}: {text}" for path, text in found.left.items()),
        exempt=tuple(f"{path}: {reason}" for path, reason in found.exempt.items()),
        why=why,
    )


def _undecided(found: Across) -> str:
    """Returns the first value that could not be judged, as a sentence, with how many there are and of what names."""
    first = next(f"{path}: {text}" for path, text in found.undecided.items())
    names = [*dict.fromkeys(name_of(path) or path for path in found.undecided)]
    listed = ", ".join([*names[:_NAMED_MAX], *(["…"] if len(names) > _NAMED_MAX else [])])
    count = len(found.undecided)
    if found.values <= count:
        return first
    which = "This value" if count == 1 else f"{count} values"
    pattern = pattern_of(names)
    rest = "" if pattern is None else f": with {pattern!r} exempt the others are judged"
    return f"{first}. {which} could not be judged: {listed}. No other value that was compared differs{rest}"


def largest(one_ulp: Sequence[Sensitivity]) -> float:
    """Returns the largest finite move of all workers' leaves that was measured; 0 where none was."""
    found = [move for worker in one_ulp for leaf in worker for move in (leaf.measured_max, leaf.measured_square)]
    return max((move for move in found if move is not None and isfinite(move)), default=0.0)


def first_not_finite(outcomes: Sequence[Outcome]) -> str | None:
    """Returns the first value that is not finite of the first worker that has one, and names the worker of several."""
    for worker, outcome in enumerate(outcomes):
        if outcome.not_finite is not None:
            return f"worker {worker}: {outcome.not_finite}" if len(outcomes) > 1 else outcome.not_finite
    return None


def _partly(outcome: Outcome) -> list[str]:
    """Returns the values that are compared in part alone, each with the reason."""
    return [f"{path}: {reason}" for path, reason in outcome.partly]


def _worse(one: Comparison, other: Comparison) -> Comparison:
    larger = max((one, other), key=_badness)
    return larger._replace(equal_bits=one.equal_bits and other.equal_bits)


def _badness(found: Comparison) -> tuple[bool, bool, float]:
    return (
        found.problem is not None,
        found.undecided is not None,
        found.distance / found.one_ulp if found.one_ulp else 0.0,
    )
