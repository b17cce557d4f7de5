"""Runs a program in the workers of a cluster in this process: the reference of those that run in real processes.

The cluster is on the first backend of the check, where its replicas can be shared out among workers: a program that
computes with a framework's functions needs that framework in the reference too. Else it is the simulator's.
"""

from collections.abc import Sequence

from simstrategy.check.openings import Openings
from simstrategy.check.outcome import Outcome, Program, program_folder, run_program
from simstrategy.check.probe import GroupCallProbe
from simstrategy.device import Backend, UlpPerturbed
from simstrategy.schedules import Schedule
from simstrategy.sim import Cluster
from simstrategy.strategy import Semantics, Strategy, group_of
from simstrategy.trace import Trace

__all__ = ["reference_of_workers", "run_cluster"]


def reference_of_workers(openings: Openings, names: Sequence[str]) -> str:
    """Returns the backend on which the cluster of a check runs."""
    return names[0] if names[0] in openings.shareable else "sim"


def run_cluster(
    program: Program,
    schedule: Schedule,
    *,
    backend: str,
    workers: int,
    semantics: Semantics,
    nudge: tuple[int, bool] | None = None,
) -> tuple[Outcome, ...]:
    """Runs a program in every worker, one replica each; returns their outcomes in worker order.

    backend: by name. nudge: a pattern of `UlpPerturbed`, and whether the results of functions move as well. Each worker
    has global random generators of its own, as a process has.
    """
    trace = Trace(root=program_folder(program))
    probes: dict[int, GroupCallProbe] = {}

    def wrap(one: Backend) -> Backend:
        if nudge is not None:
            return UlpPerturbed(one, nudge[0], functions=nudge[1])
        return probes.setdefault(one.local_devices[0].process, GroupCallProbe(one, trace))

    def main(strategy: Strategy) -> Outcome:
        return run_program(program, strategy, trace, probe=probes.get(group_of(strategy).coordinator.worker))

    cluster = Cluster(
        workers, 1, semantics=semantics, schedule=schedule, trace=trace, wrap=wrap, backend=backend, isolate=True
    )
    return cluster.run(main)
