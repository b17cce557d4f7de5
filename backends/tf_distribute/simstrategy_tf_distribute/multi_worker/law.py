"""The law of workers for TensorFlow: processes give what one process with as many replicas gives."""

from collections.abc import Iterator, Mapping
from contextlib import closing

from simstrategy.check.across import Across, Side, compare_across
from simstrategy.check.laws.explained import explained
from simstrategy.check.laws.repeat import repeated
from simstrategy.check.laws.state import state_in_process
from simstrategy.check.meaning import meaning_of
from simstrategy.check.row import Row
from simstrategy.check.rows import if_repeatable, law_row, row_of_values
from simstrategy.check.runs import Measured
from simstrategy_tf_distribute.multi_worker.merging import by_replica
from simstrategy_tf_distribute.multi_worker.runs import WorkerRuns
from simstrategy_tf_distribute.runs import TensorFlowRuns

__all__ = ["workers"]


def workers(runs: TensorFlowRuns, *, with_state: bool) -> Iterator[Row]:
    """Yields the rows of each number of workers: of the law of workers, and of the law of state.

    runs: with numbers of workers in its settings. with_state: whether the law of state is judged.
    """
    with closing(WorkerRuns(runs, runs.settings.workers)) as in_processes:
        for count in in_processes.replicas:
            if count not in runs.replicas and runs.measured(count).ran_twice:
                yield repeated(runs, count)
            yield _row(runs, in_processes, count)
        for row in state_in_process(in_processes) if with_state else ():
            yield _without_page(row._replace(replicas=_label(int(row.replicas))))


def _row(runs: TensorFlowRuns, in_processes: WorkerRuns, count: int) -> Row:
    row = law_row("workers", in_processes.reference, _label(count), in_processes.schedule)
    one = runs.with_rounding(count)
    if not one.repeatable:
        return if_repeatable(row, repeatable=False)
    other = in_processes.measured(count)
    row = row._replace(events=len(other.first.events), not_finite=other.first.not_finite)
    errors = (one.first.error, other.first.error)
    if errors != (None, None):
        return _of_errors(row, errors, other.first.notes, allowed=runs.settings.allow_errors)
    found = _compared(one, other, count, runs.settings.exempt)
    row = row_of_values(row, found, runs.settings.nothing)
    return _without_page(explained(row, lambda: in_processes.explain((count, count), {}), ()))


def _compared(one: Measured, other: Measured, count: int, exempt: Mapping[str, str]) -> Across:
    """Compares a run in one process with that of as many workers, replica by replica."""
    first, second = by_replica(one.first, other.first)
    moved = [meaning_of(by_replica(nudged, other.first)[0]) for nudged in one.nudged]
    return compare_across(
        Side(count, meaning_of(first), moved, first), Side(count, meaning_of(second), (), second), exempt
    )


def _of_errors(
    row: Row, errors: tuple[tuple[str, str] | None, tuple[str, str] | None], notes: tuple[str, ...], *, allowed: bool
) -> Row:
    """Returns the row where a run raised.  errors: in one process, and in several. notes: where the latter raised."""
    one, other = errors
    row = row._replace(raised=True)
    if one is not None and other is not None and one[0] == other[0]:
        if allowed:
            return row._replace(compared=1)
        return row._replace(undecided=f"there are no two results to compare: both raise {one[0]}", why="it raises")
    texts = ["gives a result" if error is None else f"raises {error[0]}: {error[1]}" for error in errors]
    return row._replace(problem="\n".join([f"one process {texts[0]}; with a process for each it {texts[1]}", *notes]))


def _label(count: int) -> str:
    return f"{count} × 1"


def _without_page(row: Row) -> Row:
    """Returns a row whose finding has no runs to show: pages show the runs of one process."""
    return row if row.finding is None else row._replace(finding=row.finding._replace(shown=None))
