"""Workers: real processes give what a cluster of as many workers in one process gives, and so do its schedules."""

from collections.abc import Iterator, Sequence

from simstrategy.check.compare import sensitivity
from simstrategy.check.folder import same_folder
from simstrategy.check.outcome import Outcome, Watch, program_folder, run_program
from simstrategy.check.probe import GroupCallProbe
from simstrategy.check.row import Row
from simstrategy.check.rows import reference_row, run_row
from simstrategy.check.study import NUDGES, Nudge, ScheduleMaker, Study, nudged
from simstrategy.device import Backend, UlpPerturbed
from simstrategy.schedules import Every, InOrder
from simstrategy.sim import Cluster
from simstrategy.strategy import Strategy, group_of
from simstrategy.trace import Trace

__all__ = ["run_cluster", "workers"]


def workers(study: Study) -> Iterator[Row]:
    """Yields for each number the row of workers in one process, and one for each schedule and backend."""
    for count in study.workers:
        for row in _with(study, count):
            yield row if row.reference else row._replace(law="workers")


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


def run_cluster(
    study: Study,
    count: int,
    schedule: ScheduleMaker = InOrder,
    *,
    nudge: Nudge | None = None,
    watches: Sequence[Watch] = (),
) -> tuple[Outcome, ...]:
    """Runs the program in `count` workers in one process; returns their outcomes.

    Each worker has global random generators of its own, as a process has. watches: for each worker what watches it, or
    ().
    """
    trace = Trace(root=program_folder(study.program))
    probes: dict[int, GroupCallProbe] = {}

    def wrap(backend: Backend) -> Backend:
        if nudge is not None:
            return UlpPerturbed(backend, nudge.pattern, functions=nudge.functions)
        return probes.setdefault(backend.local_devices[0].process, GroupCallProbe(backend, trace))

    def main(strategy: Strategy) -> Outcome:
        worker = group_of(strategy).coordinator.worker
        watch = watches[worker] if watches else None
        return run_program(study.program_with({}), strategy, trace, probe=probes.get(worker), watch=watch)

    cluster = Cluster(
        count,
        1,
        semantics=study.settings.semantics,
        schedule=schedule(),
        trace=trace,
        wrap=wrap,
        backend=study.openings.cluster,
        isolate=True,
    )
    with same_folder():
        return cluster.run(main)
