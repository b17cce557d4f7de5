"""Makes jobs of one program of a mesh, and has them run in processes of their own."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, final

from simstrategy.check.causes.varied import Arguments
from simstrategy.check.processes import location_of
from simstrategy.check.runs import Settings
from simstrategy_xla.mesh_check.jobs import Found, Job, Run
from simstrategy_xla.mesh_check.processes import Failure, Processes

__all__ = ["ProgramJobs", "watched"]


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
        self.apart = False
        """Whether each run has a process of its own."""

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
        given = self._first() | {**(arguments or {})}
        return Run(given, tuple(range(replicas) if order is None else order), saved=saved)

    def arguments(self, other: Mapping[str, Any]) -> Arguments:
        """Returns in which arguments a run differs that has these in place of the first values of `vary`."""
        return Arguments.of(self._first(), other)

    def _first(self) -> dict[str, Any]:
        return {name: values[0] for name, values in self._vary.items()}

    def job(self, *runs: Run) -> Job:
        """Returns what a process is given to make runs, all on one number of devices."""
        file, function, arguments = self._place
        return Job(file, function, self._axes, len(runs[0].order), runs, arguments)

    def made(self, *runs: Run) -> Sequence[Found | Failure]:
        """Returns what runs gave, made in one process; as many failures where it ended without an answer.

        Each has a process of its own where the program keeps functions that a later run should compile anew.
        """
        if self.apart and len(runs) > 1:
            return [self.made(run)[0] for run in runs]
        answer = self._processes.run(self.job(*runs), self._timeout_s)
        if isinstance(answer, Failure):
            return [answer] * len(runs)
        return [self.made(run)[0] for run in runs] if answer.is_kept else answer.runs

    def made_in_turn(
        self, first: Sequence[Run], later: Sequence[Run]
    ) -> tuple[Sequence[Found | Failure], Sequence[Found | Failure]]:
        """Returns what two groups of runs gave, made in one process: its start and imports take long.

        The later ones compile their functions anew. They have a process of their own where the program keeps functions
        that they should compile, or where the process ended in one of them; the first ones are made once more then.
        """
        if self.apart:
            return self.made(*first), self.made(*later)
        answer = self._processes.run(self.job(*first, *later), self._timeout_s)
        if not isinstance(answer, Failure):
            one, other = answer.runs[: len(first)], answer.runs[len(first) :]
            return one, self.made(*later) if answer.is_kept else other
        if answer.made < len(first):
            return [answer] * len(first), [answer] * len(later)
        return self.made(*first), self.made(*later)

    def recorded(self, *runs: Run, lines: bool) -> tuple[Found, ...] | None:
        """Returns what runs gave, with recorded values; None where their process ended without an answer.

        lines: whether the values of all lines are recorded: XLA does not compile every such program. Else those of
        collectives and shard_maps are.
        """
        found = self.made(*[watched(run, lines=lines) for run in runs])
        answered = tuple([one for one in found if isinstance(one, Found)])
        return answered if len(answered) == len(found) else None


def watched(run: Run, *, lines: bool) -> Run:
    """Returns a run with recorded values; lines as of `ProgramJobs.recorded`."""
    return run._replace(watched="lines" if lines else "calls")
