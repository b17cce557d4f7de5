"""The law of replicas: another number of replicas gives the same result, the global batch being the same.

The first number is the reference. What is compared is what a program means (`check/meaning.py`, `check/across.py`).
"""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from simstrategy.check.across import Across, compare_across, counted
from simstrategy.check.causes import Cause
from simstrategy.check.meaning import lists_by_replica, meaning_of
from simstrategy.check.row import Finding, Row
from simstrategy.check.rows import first_not_finite, if_repeatable, law_row, row_of_values
from simstrategy.check.runs import Runs
from simstrategy.run import raised_where

__all__ = ["replicas"]

_ERROR = tuple[str, str] | None


def replicas(runs: Runs) -> Iterator[Row]:
    """Yields a row for each number of replicas but the first, compared with the first."""
    first, *others = runs.replicas
    for count in others:
        yield _row(runs, first, count)


def _row(runs: Runs, count: int, other_count: int) -> Row:
    one, other = runs.measured(count), runs.measured(other_count)
    row = law_row("replicas", runs.reference, f"{other_count} against {count}")
    if not (one.repeatable and other.repeatable):
        return if_repeatable(row, repeatable=False)
    errors = (one.first.error, other.first.error)
    if errors != (None, None):
        allowed = runs.settings.allow_errors
        return row._replace(raised=True, **_errors(errors, (count, other_count), allowed=allowed))
    lists = lists_by_replica(one.first, other.first, (count, other_count))
    found = compare_across(one.side(count, lists), other.side(other_count, lists), runs.settings.exempt)
    if found.problems:
        found = _without_draws(runs, found, (count, other_count), lists)
    if not runs.ran_twice(other_count):  # it has no row of its own, which states this
        row = row._replace(not_finite=first_not_finite((other.first,)))
    return _explained(runs, row_of_values(row, found), (count, other_count))


def _explained(runs: Runs, row: Row, counts: tuple[int, int]) -> Row:
    """Returns a row with the cause of its problem, for which the program runs again and is recorded."""
    if row.problem is None:
        return row
    try:
        cause = runs.explain(counts)
    except Exception as error:  # noqa: BLE001 - the difference was found, and is not lost with its cause
        text = f"it could not be determined: {type(error).__name__} {raised_where(error, with_text=False)}."
        return row._replace(finding=_finding(row, None, text))
    return row._replace(finding=_finding(row, cause, cause.text))


def _finding(row: Row, cause: Cause | None, text: str) -> Finding:
    plain = Finding(row.law, row.backend, row.replicas, row.schedule, row.problem or "", cause=text)
    if cause is None:
        return plain
    return plain._replace(
        kind=cause.kind,
        step=cause.step,
        site=cause.site,
        variable=cause.variable,
        also=cause.also,
        source=cause.source,
    )


def _errors(errors: tuple[_ERROR, _ERROR], counts: tuple[int, int], *, allowed: bool) -> dict[str, Any]:
    """Returns the fields of a row where a run raised: on one number only, or something on each.

    The texts of errors are not compared: they may name replicas. allowed: whether a program may raise; if not, the row
    of the run that raised has the problem.
    """
    kinds = [None if error is None else error[0] for error in errors]
    if allowed and kinds[0] == kinds[1]:
        return {"compared": 1}
    texts = [
        f"with {counted(count)} it {'gives a result' if kind is None else f'raises {kind}'}"
        for count, kind in zip(counts, kinds, strict=True)
    ]
    if allowed:
        return {"problem": f"whether it raises depends on the replicas: {', '.join(texts)}", "distance": np.inf}
    advice = "correct it, or leave that number of replicas out"
    return {"undecided": f"there are no two results to compare: {', '.join(texts)}; {advice}", "why": "it raises"}


_DRAWN: Final = "; it depends on seeds that each replica draws for itself"


def _without_draws(runs: Runs, found: Across, counts: tuple[int, int], lists: frozenset[str]) -> Across:
    """Returns the differences without those in values that change with the replicas' own seeds: they are not judged."""
    labels = dict.fromkeys(label for count in counts for label in runs.measured(count).first.seeds)
    if not labels:
        return found
    moving: set[str] = set()
    for count in counts:
        one, other = runs.measured(count).first, runs.reseeded(count)
        first, second = meaning_of(one, lists), meaning_of(other, lists)
        for path in (*first.whole, *first.apart):
            pairs = (first.values(path), second.values(path))
            if len(pairs[0]) != len(pairs[1]) or any(a.tobytes() != b.tobytes() for a, b in zip(*pairs, strict=True)):
                moving.add(path)
    drawn = f"{_DRAWN} ({', '.join(map(repr, labels))})"
    unjudged = {path: text + drawn for path, text in found.problems.items() if path in moving}
    rest = {path: text for path, text in found.problems.items() if path not in unjudged}
    return found._replace(problems=rest, undecided={**unjudged, **found.undecided})
