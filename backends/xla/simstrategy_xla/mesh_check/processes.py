"""Gives jobs to processes, each with its own number of host devices."""

import pickle
from pathlib import Path
from typing import Final, NamedTuple, final

from simstrategy.errors import InvalidArgument
from simstrategy.launch.channel import Closed
from simstrategy.launch.jobs import write_job
from simstrategy.launch.server import Server
from simstrategy_xla.mesh_check.jobs import Answer, Job

__all__ = ["Failure", "Processes"]

_MAIN: Final = "simstrategy_xla.mesh_check.child:main"
_LINES: Final = 15


class Failure(NamedTuple):
    """How a process ended without an answer.

    kind: a few words. output: the end of what it printed. made: how many of its runs had ended before.
    """

    kind: str
    output: str
    made: int = 0


@final
class Processes:
    """Starts processes that have imported JAX already.  close() ends all of them.

    They run one after the other, as a user's runs do: programs may write and read the same files. What one has compiled
    is on disk for the others, until close().
    """

    def __init__(self) -> None:
        self._server = Server(["jax", "jax.numpy", _MAIN.partition(":")[0]])
        self._jobs = 0

    def close(self) -> None:
        self._server.close()

    def run(self, job: Job, timeout_s: float) -> Answer | Failure:
        """Runs a job in a process of its own, and returns what it gave.  timeout_s: of each run, in seconds.

        Raises InvalidArgument for arguments that cannot be sent to another process, and for a program that could not
        be loaded there, or whose result cannot be read.
        """
        self._jobs += 1
        given, answered = [self._server.folder / f"{what}{self._jobs}" for what in ("job", "answer")]
        write_job(given, job)
        worker = self._server.start(_MAIN)
        made = 0
        try:
            compiled = self._server.folder / "compiled"
            worker.channel.send({"job": str(given), "answer": str(answered), "compiled": str(compiled)})
            while worker.channel.receive(within_s=timeout_s)[0] != "done":
                made += 1
            kind = ""
        except TimeoutError:
            kind = "time limit"
        except Closed:
            kind = "ended"
        code = self._server.end(worker)
        if kind:
            how = f"signal {-code}" if code < 0 else f"exit code {code}"
            return Failure(how if kind == "ended" else kind, _end_of(worker.output), made)
        with answered.open("rb") as file:
            answer: Answer = pickle.load(file)  # noqa: S301 - of a process that this one started
        answered.unlink()
        if answer.refused is not None:
            raise InvalidArgument(answer.refused)
        return answer


def _end_of(output: Path) -> str:
    lines = output.read_text(errors="replace").strip().splitlines() if output.exists() else []
    return "\n".join(lines[-_LINES:])
