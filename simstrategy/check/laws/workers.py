"""Workers: real processes give what a cluster of as many workers in one process gives, and so do its schedules."""

from collections.abc import Iterator

from simstrategy.check.clusters import run_cluster
from simstrategy.check.compare import NUDGES, sensitivity
from simstrategy.check.outcome import Outcome
from simstrategy.check.row import Row
from simstrategy.check.rows import if_repeatable, reference_row, run_row
from simstrategy.check.study import Nudge, Study, nudged
from simstrategy.schedules import Every, InOrder

__all__ = ["workers"]


def workers(study: Study) -> Iterator[Row]:
    """Yields for each number the row of workers in one process, and one for each schedule and backend."""
    for count in study.workers:
        repeatable = True
        for row in _with(study, count):
            if row.reference:
                repeatable = row.undecided is None
                yield row
            else:
                yield if_repeatable(row._replace(law="workers"), repeatable=repeatable)


def _with(study: Study, count: int) -> Iterator[Row]:
    settings, label, on = study.settings, f"{count} × 1", study.openings.cluster

    def run(nudge: Nudge) -> tuple[Outcome, ...]:
        return run_cluster(study, count, nudge=nudge)

    reference, again = run_cluster(study, count), run_cluster(study, count)
    runs = [nudged(reference, run, pattern) for pattern in NUDGES]
    moved = list(zip(*runs, strict=True))
    one_ulp = [sensitivity(one, others) for one, others in zip(reference, moved, strict=True)]
    yield reference_row(on, label, reference, again, one_ulp, allow_errors=settings.allow_errors)
    for schedule in study.schedules:
        if schedule is not InOrder and not isinstance(schedule, Every):
            yield run_row(on, label, schedule(), reference, run_cluster(study, count, schedule), one_ulp)
    # Not at the top: sockets and processes slow every start down, and few programs need them.
    from simstrategy.check.processes import run_in_processes  # noqa: PLC0415

    for name in study.openings.in_workers:
        outcomes = run_in_processes(study.program, name, count, settings.semantics, settings.timeout_s)
        yield run_row(name, label, InOrder(), reference, outcomes, one_ulp)
