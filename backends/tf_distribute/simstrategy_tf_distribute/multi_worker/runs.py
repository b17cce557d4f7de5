"""The runs of one program under the real MultiWorkerMirroredStrategy, as the laws of the core need them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, final

from simstrategy.check.causes import Cause
from simstrategy.check.compare import sensitivity
from simstrategy.check.outcome import Outcome, program_folder
from simstrategy.check.processes import location_of
from simstrategy.check.runs import Measured
from simstrategy.schedules import InOrder
from simstrategy.trace import Recording
from simstrategy_tf_distribute.multi_worker.jobs import Answer, Job
from simstrategy_tf_distribute.multi_worker.matching import Finding
from simstrategy_tf_distribute.multi_worker.merging import merged, recording_of
from simstrategy_tf_distribute.multi_worker.processes import Workers
from simstrategy_tf_distribute.runs import TensorFlowRuns

__all__ = ["WorkerRuns"]

_NOT_COMPILED: Final = ("PyFunc", "XLA")
"""What TensorFlow's text has where XLA does not compile what reports the calls of a function."""


@final
class WorkerRuns:
    """The runs in processes, one for each number of workers.  It satisfies `simstrategy.check.runs.RecordedRuns`.

    one_process: the runs of the same program under MirroredStrategy. replicas: the numbers of workers, each with one
    replica. Raises InvalidArgument for a program that is no function at the top level of a file.
    """

    reference = "MultiWorkerMirroredStrategy"
    has_reference = True
    schedule = InOrder.name

    def __init__(self, one_process: TensorFlowRuns, replicas: Sequence[int]) -> None:
        self.program: Callable[[Any], Any] = one_process.program
        self.replicas = tuple(dict.fromkeys(replicas))
        self.settings = one_process.settings
        self.notes: list[str] = one_process.notes
        self._one_process = one_process
        self._job = Job(*location_of(self.program), one_process.seed)
        self._workers = Workers()
        self._measured: dict[int, Measured] = {}
        self._recordings: dict[int, Recording] = {}

    def close(self) -> None:
        """Ends all processes."""
        self._workers.close()

    def measured(self, replicas: int) -> Measured:
        """Returns what is known of the program with a number of workers; runs it at the first call."""
        found = self._measured.get(replicas)
        if found is None:
            first = self._run(replicas)
            found = self._measured[replicas] = Measured(first, first, (), sensitivity(first, ()), ran_twice=False)
        return found

    def made(self) -> Mapping[int, Measured]:
        return self._measured

    def recorded(self, replicas: int) -> Recording:
        """Returns the recording of a run, with the values of all workers."""
        return self._recordings[replicas]

    def reseeded(self, replicas: int) -> Outcome:
        """Returns the run: the seeds of a program are those of Keras and TensorFlow."""
        return self.measured(replicas).first

    def explain(self, counts: tuple[int, int], arguments: Mapping[str, Any]) -> Cause:
        """Returns why a run in one process differs from that of as many workers."""
        return self._one_process.explain_other(self.recorded(counts[1]), counts)

    def _run(self, count: int) -> Outcome:
        one_process = self._one_process.measured(count).first
        answers = self._workers.run(self._job, count, self.settings.timeout_s)
        if _not_compiled(answers) and one_process.error is None:
            answers = self._workers.run(self._job._replace(recorded=False), count, self.settings.timeout_s)
        folder = program_folder(self.program)
        heard = [] if isinstance(answers, Finding) else [answer.heard for answer in answers]
        recording = self._recordings[count] = recording_of(heard or [()] * count, folder)
        if isinstance(answers, Finding):
            return Outcome((), (answers.kind, answers.text), ())
        raised = [(worker, answer.outcome) for worker, answer in enumerate(answers) if answer.outcome.error is not None]
        for worker, outcome in raised[:1]:
            kind, text = outcome.error or ("", "")
            who = "" if len(raised) == count else f" (in worker {worker})"
            return outcome._replace(error=(kind, f"{text}{who}"))
        return merged([answer.outcome for answer in answers], one_process, recording)


def _not_compiled(answers: Sequence[Answer] | Finding) -> bool:
    """Returns whether a run ended because its calls are reported."""
    if isinstance(answers, Finding):
        return any(sign in answers.text for sign in _NOT_COMPILED) and answers.kind != "ReplicasDisagree"
    errors = [answer.outcome.error for answer in answers]
    return any(error is not None and any(sign in error[1] for sign in _NOT_COMPILED) for error in errors)
