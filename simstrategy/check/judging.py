"""Judges the runs of a program by laws, and makes the report.  It runs nothing but what the laws request."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import chain
from typing import Final, TypeVar

from simstrategy.check.law_table import LAWS
from simstrategy.check.laws import OF_RUNS, repeat
from simstrategy.check.outcome import program_name
from simstrategy.check.remarks import remarks_of
from simstrategy.check.report import Report
from simstrategy.check.row import Row
from simstrategy.check.rows import law_row, not_judged
from simstrategy.check.runs import RecordedRuns, require_known, tried_in

__all__ = ["judge", "judge_runs"]

R = TypeVar("R", bound=RecordedRuns)
OnRow = Callable[[Row], None]


def judge_runs(runs: RecordedRuns, names: Sequence[str], require: Sequence[str], on_row: OnRow) -> Report:
    """Judges the runs of a program for another library by the laws of these names, and closes them.

    Each number of replicas that ran twice has a row of its own. names: of `laws.OF_RUNS`.
    """
    return judge(runs, (repeat,), OF_RUNS, names, require, on_row)


def judge(
    runs: R,
    always: Sequence[Callable[[R], Iterator[Row]]],
    named: Mapping[str, Callable[[R], Iterator[Row]]],
    names: Sequence[str],
    require: Sequence[str],
    on_row: OnRow,
) -> Report:
    """Judges runs by laws, and closes them.

    always: laws that are judged in any case. named: the others, by name; names: those that are judged. require: words
    of what must have been tried. on_row: receives each row when it is ready.
    """
    with closing(runs):
        rows = []
        for row in chain(*(law(runs) for law in always), *(_named_rows(runs, named[name], name) for name in names)):
            on_row(row)
            rows.append(row)
        require_known(runs.settings.exempt, runs.made().values())
        return Report(program_name(runs.program), rows, remarks_of(rows, tried_in(runs)), require, runs.notes)


def _named_rows(runs: R, law: Callable[[R], Iterator[Row]], name: str) -> Iterator[Row]:
    """Yields the rows of a law; one that compares nothing where it has none and was asked for."""
    found, can_run = False, runs.has_reference or not LAWS[name].in_process
    for row in law(runs) if can_run else ():
        found = True
        yield row
    asked = runs.settings.asked
    if not found and (name in asked or "all" in asked):
        label = ", ".join(map(str, runs.replicas))
        row = law_row(name, runs.reference, label)._replace(schedule="no run")
        needs = LAWS[name].needs if can_run else _NEEDS_REFERENCE
        yield not_judged(row, "nothing to compare", f"nothing was compared; {needs}", asked=name in asked)


_NEEDS_REFERENCE: Final = "add a backend whose replicas are in one process, such as sim"
