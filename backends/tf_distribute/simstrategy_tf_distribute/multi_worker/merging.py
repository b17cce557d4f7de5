"""Makes one recording of those of all workers, as a run in one process with as many replicas has it."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from simstrategy.trace import Recorder, Recording
from simstrategy_tf_distribute.multi_worker.jobs import Heard
from simstrategy_tf_distribute.observing import Steps
from simstrategy_tf_distribute.running import WHOLE_BYTES

__all__ = ["recording_of"]

Host = np.ndarray[Any, Any]


def recording_of(heard: Sequence[Sequence[Heard]], root: str) -> Recording:
    """Returns the recording of a run, of what was heard in each worker.  root: the folder of the program.

    Steps and reductions are those that all workers made, with the values of all of them. It ends where one has no more.
    """
    recorder = Recorder(root=root, whole_bytes=WHOLE_BYTES)
    recorder.describe(replicas=len(heard))
    steps = Steps(recorder)
    common = [[one for one in worker if one.what != "wrote"] for worker in heard]
    writes = [_writes(worker) for worker in heard]
    for number in range(min(map(len, common)) + 1):
        for worker, known in enumerate(writes):
            for variable, operation, value, site in known.get(number, ()):
                steps.wrote(worker, variable, operation, value, site)
        if number == min(map(len, common)) or not _reported(steps, [worker[number] for worker in common]):
            break
    return recorder.recording()


def _reported(steps: Steps, here: Sequence[Heard]) -> bool:
    """Reports what all workers did together; returns False where they did not do the same."""
    if len({one.what for one in here}) > 1:
        return False
    if here[0].what == "started":
        parts = [one.arguments[0] for one in here]
        steps.started([part[0] for part in parts] if all(map(len, parts)) else (), *here[0].arguments[1:])
        return True
    if len({one.arguments[:2] for one in here}) > 1:
        return False
    kind, op, site, subject, form, _ = here[0].arguments
    steps.sent(kind, op, site, subject, form, [one.arguments[-1][0] for one in here])
    return True


def _writes(heard: Sequence[Heard]) -> Mapping[int, list[tuple[str, str, Host, Any]]]:
    """Returns the writes of one worker, by how many steps and reductions came before."""
    found: dict[int, list[tuple[str, str, Host, Any]]] = {}
    before = 0
    for one in heard:
        if one.what == "wrote":
            _, variable, operation, value, site = one.arguments
            found.setdefault(before, []).append((variable, operation, value, site))
        else:
            before += 1
    return found
