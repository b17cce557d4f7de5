"""The law of replicas: another number of replicas gives the same result, the global batch being the same.

The first number is the reference. What is compared is what a program means (`check/meaning.py`, `check/across.py`).
"""

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

import numpy as np

from simstrategy.check.across import ITS_OWN, THE_COUNT, Across, counted
from simstrategy.check.laws.explained import explained
from simstrategy.check.left_over import judged_without
from simstrategy.check.meaning import lists_by_replica, meaning_of
from simstrategy.check.row import Row
from simstrategy.check.rows import first_not_finite, if_repeatable, law_row, row_of_values
from simstrategy.check.runs import Measured, Runs, compared, sides
from simstrategy.check.shown import of_replicas

__all__ = ["replicas"]

_ERROR = tuple[str, str] | None


def replicas(study: Runs) -> Iterator[Row]:
    """Yields a row for each number of replicas but the first, compared with the first."""
    first, *others = study.replicas
    for count in others:
        yield _row(study, first, count)


def _row(study: Runs, count: int, other_count: int) -> Row:
    one, other = study.measured(count), study.measured(other_count)
    row = law_row("replicas", study.reference, f"{other_count} against {count}", study.schedule)
    if not (one.repeatable and other.repeatable):
        return if_repeatable(row, repeatable=False)
    errors = (one.first.error, other.first.error)
    if errors != (None, None):
        allowed = study.settings.allow_errors
        return row._replace(raised=True, **_errors(errors, (count, other_count), allowed=allowed))
    counts = (count, other_count)
    found = _across(study, one, other, counts)
    if not other.ran_twice:  # it has no row of its own, which states this
        row = row._replace(not_finite=first_not_finite((other.first,)))
    row = row_of_values(row, found, study.settings.nothing)
    for text, why in _WHY.items():
        if row.undecided is not None and text in row.undecided:
            row = row._replace(why=why)
    ways = (of_replicas(count), of_replicas(other_count))
    return explained(row, lambda: study.explain(counts, {}), ways)


def _across(study: Runs, one: Measured, other: Measured, counts: tuple[int, int]) -> Across:
    """Compares two runs; where they differ, or rounding may explain too much, with what more runs show."""
    exempt = study.settings.exempt
    found = compared(one, other, counts, exempt)
    differing = {*found.problems}
    if differing:
        found = _without_draws(study, found, counts)
    moved = study.with_moved_sums(counts) if found.problems else None
    if moved is not None:
        one, other = moved
        found = _without_draws(study, compared(one, other, counts, exempt), counts)
    left_over = partial(study.left_over, counts, {})
    return judged_without(sides(one, other, counts), exempt, found, left_over, but=differing)


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
    if kinds[0] == kinds[1]:
        return {"undecided": f"there are no two results to compare: both runs raise {kinds[0]}", "why": "it raises"}
    advice = "correct it, or leave that number of replicas out"
    return {"undecided": f"there are no two results to compare: {', '.join(texts)}; {advice}", "why": "it raises"}


_DRAWN: Final = "; it depends on numbers that each replica draws for itself"
_SHARED: Final = "; what all replicas share, such as the order of rows, has to come from one seed"
_WHY: Final = {_DRAWN: "each replica draws numbers of its own", ITS_OWN: ITS_OWN, THE_COUNT: THE_COUNT}
"""Why a row is not judged, by what its text has."""


def _without_draws(study: Runs, found: Across, counts: tuple[int, int]) -> Across:
    """Returns the differences without those in values that change with the replicas' own seeds: they are not judged."""
    labels = study.drawn_from(counts)
    if not labels:
        return found
    lists = lists_by_replica(study.measured(counts[0]).first, study.measured(counts[1]).first, counts)
    moving: set[str] = set()
    for count in counts:
        one, other = study.measured(count).first, study.reseeded(count)
        first, second = meaning_of(one, lists), meaning_of(other, lists)
        for path in (*first.whole, *first.apart):
            pairs = (first.values(path), second.values(path))
            if len(pairs[0]) != len(pairs[1]) or any(a.tobytes() != b.tobytes() for a, b in zip(*pairs, strict=True)):
                moving.add(path)
    named = [one for one in labels if not any(other.startswith(f"{one}, ") for other in labels)]
    drawn = f"{_DRAWN} ({', '.join(map(repr, named))}){_SHARED}"
    unjudged = {path: text + drawn for path, text in found.problems.items() if path in moving}
    rest = {path: text for path, text in found.problems.items() if path not in unjudged}
    return found._replace(problems=rest, undecided={**unjudged, **found.undecided})
