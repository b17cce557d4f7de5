"""Makes jobs of one program of a mesh, and has them run in processes of their own."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, final

from simstrategy.check.processes import location_of
from simstrategy.check.runs import Settings
from simstrategy_xla.mesh_check.jobs import Found, Job, Run
from simstrategy_xla.mesh_check.processes import Failure, Processes

__all__ = ["ProgramJobs"]


@final
class ProgramJobs:
    """The jobs of `program(mesh)`, whose mesh has these axes.  close() ends the processes.

    Raises InvalidArgument for a program that is no function of a file.
    """

    def __init__(self, program: Callable[..., Any], axes: Sequence[str], settings: Settings) -> None:
        self._place = location_of(program)
        self._axes = tuple(axes)
        self._vary = settings.vary
        self._timeout_s = settings.timeout_s
        self._processes = Processes()

    def close(self) -> None:
        self._processes.close()

    def run(
        self,
        replicas: int,
        arguments: Mapping[str, Any] | None = None,
        *,
        order: Sequence[int] | None = None,
        saved: bytes | None = None,
    ) -> Run:
        """Returns a run on so many devices.

        arguments: in place of the first values of `vary`. order: of the devices, by number. saved: as of `Run`.
        """
        given = {name: values[0] for name, values in self._vary.items()} | {**(arguments or {})}
        return Run(given, tuple(range(replicas) if order is None else order), saved=saved)

    def job(self, *runs: Run) -> Job:
        """Returns what a process is given to make runs, all on one number of devices."""
        return Job(*self._place, self._axes, len(runs[0].order), runs)

    def made(self, *runs: Run) -> Sequence[Found | Failure]:
        """Returns what runs gave, made in one process; as many failures where it ended without an answer."""
        answer = self._processes.run(self.job(*runs), self._timeout_s)
        return [answer] * len(runs) if isinstance(answer, Failure) else answer.runs

    def recorded(self, *runs: Run, lines: bool) -> tuple[Found, ...] | None:
        """Returns what runs gave, with recorded values; None where their process ended without an answer.

        lines: whether the values of all lines are recorded: XLA does not compile every such program. Else those of
        collectives and shard_maps are.
        """
        job = self.job(*runs)._replace(watched="lines" if lines else "calls")
        answer = self._processes.run(job, self._timeout_s)
        return None if isinstance(answer, Failure) else answer.runs
