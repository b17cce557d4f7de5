"""Runs of one program under the real MultiWorkerMirroredStrategy, in processes."""

from typing import Final, final

from simstrategy.check.causes import Cause
from simstrategy.check.merging import merged
from simstrategy.check.outcome import Outcome, program_folder
from simstrategy.check.process_runs import ProcessRuns, raised_in
from simstrategy.check.processes import location_of
from simstrategy.launch.matching import Finding
from simstrategy.launch.together import Ran
from simstrategy.trace import Recording
from simstrategy_tf_distribute.multi_worker.jobs import Job
from simstrategy_tf_distribute.multi_worker.merging import recording_of
from simstrategy_tf_distribute.multi_worker.processes import start_workers
from simstrategy_tf_distribute.observing import first_not_finite
from simstrategy_tf_distribute.runs import TensorFlowRuns

__all__ = ["worker_runs"]

_NOT_COMPILED: Final = ("PyFunc", "XLA")
"""What TensorFlow's text has where XLA does not compile what reports the calls of a function."""


def worker_runs(one_process: TensorFlowRuns) -> ProcessRuns:
    """Returns the runs in processes of a program that runs under MirroredStrategy as well.  Close them.

    Raises InvalidArgument for a program that is no function at the top level of a file.
    """
    program, settings = one_process.program, one_process.settings
    return ProcessRuns(program, "MultiWorkerMirroredStrategy", settings, one_process.notes, _Starter(one_process))


@final
class _Starter:
    """It satisfies `simstrategy.check.process_runs.Starter`."""

    def __init__(self, one_process: TensorFlowRuns) -> None:
        self._one_process = one_process
        file, function, arguments = location_of(one_process.program)
        self._job = Job(file, function, one_process.seed, arguments=arguments)
        self._workers = start_workers()

    def close(self) -> None:
        self._workers.close()

    def explain(self, count: int, recording: Recording) -> Cause:
        return self._one_process.explain_other(recording, (count, count))

    def run(self, count: int) -> tuple[Outcome, Recording]:
        one_process, timeout_s = self._one_process.measured(count).first, self._one_process.settings.timeout_s
        found = self._workers.run(self._job, count, timeout_s)
        if _not_compiled(found) and one_process.error is None:
            found = self._workers.run(self._job._replace(recorded=False), count, timeout_s)
        answers = found.answers if isinstance(found, Ran) else ()
        heard = [answer.heard for answer in answers]
        recording = recording_of(heard or [()] * count, program_folder(self._one_process.program))
        if isinstance(found, Finding):
            return Outcome((), (found.kind, found.text), ()), recording
        outcomes = [answer.outcome for answer in answers]
        return raised_in(outcomes) or merged(outcomes, one_process, first_not_finite(recording)), recording


def _not_compiled(found: Ran | Finding) -> bool:
    """Returns whether a run ended because its calls are reported."""
    if isinstance(found, Finding):
        return any(sign in found.text for sign in _NOT_COMPILED) and found.kind != "ReplicasDisagree"
    errors = [answer.outcome.error for answer in found.answers]
    return any(error is not None and any(sign in error[1] for sign in _NOT_COMPILED) for error in errors)
