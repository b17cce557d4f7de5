"""The runs of one program of another library in several processes, as the laws of the core need them.

What starts the processes, and makes an outcome of what they gave, is the checker's: `Starter`.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Protocol, final

from simstrategy.check.causes import Cause
from simstrategy.check.compare import sensitivity
from simstrategy.check.left_over import LeftOver
from simstrategy.check.outcome import Outcome
from simstrategy.check.runs import Measured, Settings, seeds_drawn
from simstrategy.errors import InvalidArgument
from simstrategy.schedules import InOrder
from simstrategy.trace import Recording

__all__ = ["ProcessRuns", "Starter", "raised_in"]


class Starter(Protocol):
    """Runs a program in processes."""

    def run(self, count: int) -> tuple[Outcome, Recording]:
        """Runs the program once in as many processes; returns their outcome as one, and a recording."""

    def explain(self, count: int, recording: Recording) -> Cause | None:
        """Returns why the run of `recording` differs from that in one process with as many replicas."""

    def close(self) -> None:
        """Ends all processes."""


@final
class ProcessRuns:
    """The runs in processes, one for each number of workers.  It satisfies `simstrategy.check.runs.RecordedRuns`.

    reference: the name of what runs the program, for the rows. workers: numbers of them, each with one replica. notes:
    those of the runs in one process. Raises InvalidArgument for less than one worker.
    """

    has_reference = True
    schedule = InOrder.name

    def __init__(
        self, program: Callable[[Any], Any], reference: str, settings: Settings, notes: list[str], starter: Starter
    ) -> None:
        wrong = [count for count in settings.workers if count < 1]
        if wrong:
            raise InvalidArgument(
                f"workers are numbers of processes of at least 1, got {wrong[0]}. Give for example 2."
            )
        self.program = program
        self.reference = reference
        self.replicas = tuple(dict.fromkeys(settings.workers))
        self.settings = settings
        self.notes = notes
        self._starter = starter
        self._measured: dict[int, Measured] = {}
        self._recordings: dict[int, Recording] = {}

    def close(self) -> None:
        """Ends all processes."""
        self._starter.close()

    def measured(self, replicas: int) -> Measured:
        """Returns what is known of the program with a number of workers; runs it at the first call."""
        found = self._measured.get(replicas)
        if found is None:
            first, self._recordings[replicas] = self._starter.run(replicas)
            found = self._measured[replicas] = Measured(first, first, (), sensitivity(first, ()), ran_twice=False)
        return found

    def made(self) -> Mapping[int, Measured]:
        return self._measured

    def recorded(self, replicas: int) -> Recording:
        """Returns the recording of a run of `measured`."""
        return self._recordings[replicas]

    def drawn_from(self, counts: tuple[int, int]) -> tuple[str, ...]:
        return seeds_drawn(self._measured, counts)

    def reseeded(self, replicas: int) -> Outcome:
        """Returns the run: the seeds of such a program are its own."""
        return self.measured(replicas).first

    def with_moved_sums(self, counts: tuple[int, int]) -> None:
        """Returns None: what replicas sum is not known here."""

    def left_over(self, counts: tuple[int, int], arguments: Mapping[str, Any], paths: Collection[str]) -> LeftOver:
        """Returns nothing: the gradients of parameters are not known here."""
        return {}

    def explain(self, counts: tuple[int, int], arguments: Mapping[str, Any]) -> Cause | None:
        """Returns why a run in one process differs from that of as many workers."""
        return self._starter.explain(counts[1], self.recorded(counts[1]))


def raised_in(outcomes: Sequence[Outcome]) -> Outcome | None:
    """Returns the first worker's outcome that raised, with the worker in its text; None where none did."""
    raised = [(worker, outcome) for worker, outcome in enumerate(outcomes) if outcome.error is not None]
    for worker, outcome in raised[:1]:
        kind, text = outcome.error or ("", "")
        who = "" if len(raised) == len(outcomes) else f" (in worker {worker})"
        return outcome._replace(error=(kind, f"{text}{who}"))
    return None
