"""Repeat: two identical runs with one number of replicas give the same bits.

Programs for simstrategy's strategies have this row from the law of backends, which compares with the same run.
"""

from collections.abc import Iterator

from simstrategy.check.row import Row, shown_in
from simstrategy.check.rows import reference_row
from simstrategy.check.runs import Runs
from simstrategy.check.shown import of_replicas

__all__ = ["repeat", "repeated"]


def repeat(runs: Runs) -> Iterator[Row]:
    """Yields the row of each number of replicas that ran twice."""
    for count in runs.replicas:
        if runs.measured(count).ran_twice:
            yield repeated(runs, count)


def repeated(runs: Runs, count: int) -> Row:
    """Returns the row of a number of replicas: of both runs, and how far rounding moves them."""
    found, allowed = runs.measured(count), runs.settings.allow_errors
    row = reference_row(
        runs.reference, str(count), (found.first,), (found.again,), [found.one_ulp], allow_errors=allowed
    )
    if found.first.untried and row.problem is not None:
        return row._replace(problem=None, undecided=f"the script {row.problem}", why=found.first.untried)
    return shown_in(row, (of_replicas(count),))
