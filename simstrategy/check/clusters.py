"""Runs the program of a study in several workers, all in this process."""

from collections.abc import Sequence

from simstrategy.check.folder import same_folder
from simstrategy.check.outcome import Outcome, Watch, program_folder, run_program
from simstrategy.check.probe import GroupCallProbe
from simstrategy.check.study import Nudge, ScheduleMaker, Study
from simstrategy.device import Backend, UlpPerturbed
from simstrategy.schedules import InOrder
from simstrategy.sim import Cluster
from simstrategy.strategy import Strategy, group_of
from simstrategy.trace import Trace

__all__ = ["run_cluster"]


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
        order=study.openings.order_of(study.openings.cluster),
        backend=study.openings.cluster,
        isolate=True,
    )
    with same_folder():
        return cluster.run(main)
