"""What a worker of `together.py` does in its process: receives a job, reports what it calls, and writes its answer."""

import os
import pickle
import signal
import tempfile
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, final

from simstrategy.launch.channel import Channel
from simstrategy.launch.jobs import print_to, read_job

__all__ = ["Place", "Reporter", "answered"]


class Place(NamedTuple):
    """Where a worker is.  worker: its number. addresses: of all workers, as in ``127.0.0.1:5000``."""

    worker: int
    addresses: tuple[str, ...]


@final
class Reporter:
    """Sends messages to the process that compares calls; several threads may."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._lock = threading.Lock()

    def report(self, message: dict[str, Any]) -> None:
        """Sends a message.  Raises Closed where the other process has ended."""
        with self._lock:
            self._channel.send(message)


def answered(channel: Channel, output: Path, work: Callable[[Any, Place, Reporter], Any]) -> int:
    """Does the work of the job that the channel names, and waits until this process is ended.

    work: returns what the run gave; a text where there is nothing to compare, as a sentence. output: for all that is
    printed. A worker that ended earlier would end the others too: a library takes it for one that failed.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started this one ends it
    print_to(output)
    message, _ = channel.receive()
    _take_temporary_folder(Path(message["answer"]).parent / "temporary")
    job = read_job(message["job"])
    reporter = Reporter(channel)
    try:
        answer = work(job, Place(message["worker"], tuple(message["addresses"])), reporter)
        if isinstance(answer, str):
            reporter.report({"refused": answer})
        else:
            Path(message["answer"]).write_bytes(pickle.dumps(answer, protocol=pickle.HIGHEST_PROTOCOL))
            reporter.report({"answered": True})
    except Exception:  # noqa: BLE001 - such as a port that is taken; it is shown with the output
        traceback.print_exc()
        return 1
    channel.receive()
    return 0


def _take_temporary_folder(folder: Path) -> None:
    """Lets what this process and its children make in the temporary folder lie in one that goes with the workers.

    They are killed in the end, so no library removes its files.
    """
    folder.mkdir(exist_ok=True)
    os.environ["TMPDIR"] = str(folder)
    vars(tempfile)["tempdir"] = str(folder)  # which is known already, from the process that this one is a copy of
