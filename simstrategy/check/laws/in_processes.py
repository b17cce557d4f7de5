"""Workers of another library: processes give what one process with as many replicas gives.

Programs for simstrategy's strategies are judged by `workers.py`. Here each worker has one replica, and the runs are
those of a checker.
"""

from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Final, Protocol

from simstrategy.check.across import Across, Side, compare_across
from simstrategy.check.laws.explained import explained
from simstrategy.check.laws.repeat import repeated
from simstrategy.check.laws.state import state_in_process
from simstrategy.check.meaning import COPIES, meaning_of
from simstrategy.check.merging import by_replica, described_values, of_worker
from simstrategy.check.outcome import Outcome
from simstrategy.check.row import Row
from simstrategy.check.rows import if_repeatable, law_row, row_of_values
from simstrategy.check.runs import Measured, RecordedRuns, Runs
from simstrategy.errors import Unsupported

__all__ = ["InOneProcess", "in_processes"]


_ALONE: Final = "alone returns it. Return it in all workers, or exempt it"


class InOneProcess(Runs, Protocol):
    """The runs with which runs in processes are compared."""

    def with_rounding(self, replicas: int) -> Measured:
        """Returns what `measured` does, for any number of replicas, with nudged runs where it does not raise."""


def in_processes(runs: InOneProcess, workers: RecordedRuns, *, with_state: bool) -> Iterator[Row]:
    """Yields the rows of each number of workers: of the law of workers, and of the law of state.

    workers: the runs in processes, which are closed. with_state: whether the law of state is judged.
    """
    with closing(workers):
        for count in workers.replicas:
            one = runs.with_rounding(count)
            if count not in runs.replicas and one.ran_twice:
                yield repeated(runs, count)
            yield _row(runs, workers, count)
        for row in state_in_process(workers) if with_state else ():
            yield _of_processes(row, _label(int(row.replicas)))


def _row(runs: InOneProcess, workers: RecordedRuns, count: int) -> Row:
    row = law_row("workers", workers.reference, _label(count), workers.schedule)
    one = runs.with_rounding(count)
    if not one.repeatable:
        return if_repeatable(row, repeatable=False)
    other = workers.measured(count)
    row = row._replace(events=len(other.first.events), not_finite=other.first.not_finite)
    errors = (one.first.error, other.first.error)
    if errors != (None, None):
        return _of_errors(row, errors, other.first.notes, allowed=runs.settings.allow_errors)
    found = _compared(one, other, count, runs.settings.exempt)
    row = row_of_values(row, found, runs.settings.nothing)
    if row.problem is None and any(text.endswith(_ALONE) for text in found.undecided.values()):
        row = row._replace(why="some workers alone return it")
    return _of_processes(explained(row, lambda: workers.explain((count, count), {}), ()), _label(count))


def _compared(one: Measured, other: Measured, count: int, exempt: Mapping[str, str]) -> Across:
    """Compares a run in one process with that of as many workers, replica by replica."""
    first, second = by_replica(one.first, other.first)
    moved = [meaning_of(by_replica(nudged, other.first)[0]) for nudged in one.nudged]
    found = compare_across(
        Side(count, meaning_of(first), moved, first), Side(count, meaning_of(second), (), second), exempt
    )
    alone = _alone(other.first, count)
    undecided = {path: f"{text}; {alone[path]}" for path, text in found.problems.items() if path in alone}
    problems = {path: text for path, text in found.problems.items() if path not in alone}
    return found._replace(problems=problems, undecided={**found.undecided, **undecided})


def _alone(outcome: Outcome, count: int) -> Mapping[str, str]:
    """Returns the values that some workers alone return: they may be values of their own, or what all should have."""
    paths = {path for path, _ in outcome.leaves}
    copies = {kind.path for kind in outcome.variables if kind.layout == COPIES}
    found = {}
    for path in [path for path, text in outcome.structure if text == described_values(count) and path not in copies]:
        workers = [str(worker) for worker in range(count) if of_worker(path, worker) in paths]
        if len(workers) < count:
            found[path] = f"worker {', '.join(workers)} {_ALONE}"
    return found


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
    if one is None and other is not None and other[0] == Unsupported.__name__:
        return row._replace(undecided=other[1], why="a library does not do it in several processes")
    texts = ["gives a result" if error is None else f"raises {error[0]}: {error[1]}" for error in errors]
    return row._replace(problem="\n".join([f"one process {texts[0]}; with a process for each it {texts[1]}", *notes]))


def _label(count: int) -> str:
    return f"{count} × 1"


def _of_processes(row: Row, label: str) -> Row:
    """Returns a row with its label; its finding has no runs to show: pages show the runs of one process."""
    finding = None if row.finding is None else row.finding._replace(replicas=label, shown=None)
    return row._replace(replicas=label, finding=finding)
