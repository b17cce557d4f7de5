"""What the process of one worker does: connects to the others by TF_CONFIG, runs the program, and reports its calls."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, final

import numpy as np
import tensorflow as tf

from simstrategy.check.programs import load_program
from simstrategy.errors import InvalidArgument
from simstrategy.launch.calls import Form
from simstrategy.launch.channel import Channel
from simstrategy.launch.reporting import Place, Reporter, answered
from simstrategy.run import raised_where
from simstrategy.trace import Trace
from simstrategy_tf_distribute.lines import Lines, Site
from simstrategy_tf_distribute.multi_worker.announcing import Announcer, watch
from simstrategy_tf_distribute.multi_worker.jobs import Answer, Heard, Job
from simstrategy_tf_distribute.multi_worker.observed import ObservedWorker
from simstrategy_tf_distribute.observation import Observation
from simstrategy_tf_distribute.observing import Observer
from simstrategy_tf_distribute.running import begin, run_under

__all__ = ["main"]

Host = np.ndarray[Any, Any]


def main(channel: Channel, output: Path) -> int:
    """Runs the job that the channel names, and waits until its process is ended.  output: for all that is printed."""
    return answered(channel, output, _answer)


def _answer(job: Job, place: Place, reporter: Reporter) -> Answer | str:
    """Returns what the run gave; or why the program could not be loaded, or its result not be read, as a sentence."""
    worker, announcer = place.worker, Announcer(reporter, traced=job.recorded)
    task = {"type": "worker", "index": worker}
    os.environ["TF_CONFIG"] = json.dumps({"cluster": {"worker": list(place.addresses)}, "task": task})
    tf.config.set_visible_devices([], "GPU")
    root, lines, kept = str(Path(job.file).parent), Lines(), _Kept()
    observer = Observer(kept, lines) if job.recorded else None
    observation = Observation(lines, Trace(root=root), observer, 1, first=worker)
    observation.record_direct_writes()
    # The strategy comes first: it starts TensorFlow's server, which no other operation may precede.
    strategy = ObservedWorker(observation)
    reporter.report({"connected": True})
    watch(strategy.extended, announcer, observation)
    begin(job.seed)
    try:
        program = load_program(job.file, job.function, job.arguments)
    except Exception as error:  # noqa: BLE001 - whatever the file raises
        where = raised_where(error, with_text=False)
        name = Path(job.file).name
        return f"{name} was loaded in worker {worker}, and raised {type(error).__name__}: {error} {where}. {_LOADING}"
    try:
        outcome, _ = run_under(program, strategy, observation)
    except InvalidArgument as error:  # a result that cannot be read
        return str(error)
    if outcome.error is None:
        reporter.report({"returned": True})
    else:
        reporter.report({"raised": [*outcome.error, *outcome.notes]})
    return Answer(outcome, tuple(kept.heard))


_LOADING: Final = (
    "The check loads the file in a process for each worker, which has TF_CONFIG set and a strategy already: what makes "
    "a strategy of its own belongs under if __name__ == '__main__'."
)


@final
class _Kept:
    """Keeps what is reported of a run, in order.  It satisfies `observing.Sink`."""

    def __init__(self) -> None:
        self.heard: list[Heard] = []

    def started(self, parts: Sequence[Host], site: Site, data: Site | None) -> None:
        self.heard.append(Heard("started", (tuple(map(np.array, parts)), site, data)))

    def sent(self, kind: str, op: str, site: Site, subject: str | None, form: Form, values: Sequence[Host]) -> None:
        self.heard.append(Heard("sent", (kind, op, site, subject, form, tuple(map(np.array, values)))))

    def wrote(self, replica: int, variable: str, operation: str, value: Host, site: Site) -> None:
        self.heard.append(Heard("wrote", (replica, variable, operation, np.array(value), site)))
