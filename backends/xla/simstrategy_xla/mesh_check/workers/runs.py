"""Runs of one program of a mesh in processes, each with one device of the mesh."""

from collections.abc import Sequence
from typing import Final, final

from simstrategy.check.causes import Cause
from simstrategy.check.outcome import Outcome, program_folder
from simstrategy.check.process_runs import ProcessRuns, raised_in
from simstrategy.launch.calls import written
from simstrategy.launch.matching import Finding, Unequal
from simstrategy.trace import Recorder, Recording, describe_site
from simstrategy_xla.mesh_check.outcomes import outcome_of
from simstrategy_xla.mesh_check.runs import MeshRuns
from simstrategy_xla.mesh_check.workers.joined import joined
from simstrategy_xla.mesh_check.workers.launches import GIVEN_WHOLE
from simstrategy_xla.mesh_check.workers.processes import start_workers

__all__ = ["worker_runs"]

_ADVICE: Final = (
    "JAX takes a value of one process for a copy of what all have, and does not compare the copies: make it the same "
    "in all processes, as from one seed or by multihost_utils.broadcast_one_to_all, or make an array of the parts that "
    "the processes have by jax.make_array_from_process_local_data"
)


def worker_runs(one_process: MeshRuns) -> ProcessRuns:
    """Returns the runs in processes of a program that runs in one process as well.  Close them."""
    return ProcessRuns(
        one_process.program, "jax.distributed", one_process.settings, one_process.notes, _Starter(one_process)
    )


@final
class _Starter:
    """It satisfies `simstrategy.check.process_runs.Starter`."""

    def __init__(self, one_process: MeshRuns) -> None:
        self._one_process = one_process
        self._workers = start_workers()
        self._unequal: dict[int, Sequence[Unequal]] = {}

    def close(self) -> None:
        self._workers.close()

    def run(self, count: int) -> tuple[Outcome, Recording]:
        one = self._one_process
        first = one.with_rounding(count).first
        recorder = Recorder(root=program_folder(one.program))
        recorder.describe(replicas=count)
        recording = recorder.recording()
        found = self._workers.run(one.job(count), count, one.settings.timeout_s)
        if isinstance(found, Finding):
            return Outcome((), (found.kind, found.text), ()), recording
        self._unequal[count] = found.unequal
        raised = raised_in([outcome_of(one) for one in found.answers])
        if raised is not None:
            return raised, recording
        diverged = not all(map(_is_whole, found.unequal))
        return joined(found.answers, first, one.rows, one.state, diverged=diverged), recording

    def explain(self, count: int, recording: Recording) -> Cause | None:
        """Returns the first run of a compiled program to which processes brought unequal copies of a value, if any.

        A replicated value goes before one of which each process takes a part: that one may lawfully be unequal.
        """
        unequal = self._unequal.get(count, ())
        found = next((one for one in unequal if not _is_whole(one)), next(iter(unequal), None))
        if found is None:
            return None
        call, place = found.call, describe_site(found.call.site)
        others = [worker for worker in range(count) if worker not in found.same]
        how = "given whole by each process" if _is_whole(found) else "replicated"
        what = "value" if found is unequal[0] else "replicated value"
        text = (
            f"{call.text()} is the first computation of all processes to which they bring unequal copies of a {what}: "
            f"argument {found.value + 1}, {written(call.forms[found.value])}, is {how}, and worker {_numbers(others)} "
            f"has another copy than worker {_numbers(found.same)}. {_ADVICE}."
        )
        return Cause(None, None, place, call.what, None, text, certain=False)


def _is_whole(found: Unequal) -> bool:
    """Returns whether a value is one of which each process takes a part of what it has itself."""
    return found.call.copies[found.value].startswith(GIVEN_WHOLE)


def _numbers(workers: tuple[int, ...] | list[int]) -> str:
    return " and ".join(map(str, workers))
