"""Starts a process for each worker of a run, compares the workers' calls while they run, and ends all of them.

The addresses are those of 127.0.0.1, with ports that are reserved until the run has ended. What a worker does is in
`reporting.py`.
"""

import pickle
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, NamedTuple, final

from simstrategy.errors import InvalidArgument
from simstrategy.launch.calls import call_of
from simstrategy.launch.channel import Closed, ready
from simstrategy.launch.jobs import write_job
from simstrategy.launch.matching import Finding, Matching, Unequal
from simstrategy.launch.ports import reserved_port
from simstrategy.launch.server import Server, Worker

__all__ = ["Ran", "Workers"]

_LINES: Final = 15
_ADVICE: Final = "Give a larger timeout if the program needs more"


class Ran(NamedTuple):
    """A run that all workers ended.  answers: one for each. unequal: where their copies were, as of `Matching`."""

    answers: tuple[Any, ...]
    unequal: tuple[Unequal, ...]


@final
class Workers:
    """Runs jobs in workers, each in processes of its own.  close() ends them.

    main: "module:function" of what a worker does. preload: modules that its process has imported.
    """

    def __init__(self, main: str, preload: Sequence[str]) -> None:
        self._main = main
        self._server = Server([*preload, main.partition(":")[0]])
        self._runs = 0

    @property
    def process(self) -> int:
        """The process number of the one from which the workers are forked."""
        return self._server.process

    def close(self) -> None:
        self._server.close()

    def run(self, job: Any, count: int, timeout_s: float) -> Ran | Finding:
        """Runs a job as `count` workers; returns their answers, or why there are none.  timeout_s: in seconds.

        Raises InvalidArgument for a job that cannot be sent to another process, for a program that a worker cannot
        load, and for a result that cannot be read. No process and no file of the run is left.
        """
        self._runs += 1
        given = self._server.folder / f"job{self._runs}"
        write_job(given, job)
        answers = [self._server.folder / f"answer{self._runs}.{worker}" for worker in range(count)]
        matching = Matching(count)
        workers: list[Worker] = []
        with ExitStack() as stack:
            addresses = [f"127.0.0.1:{stack.enter_context(reserved_port())}" for _ in range(count)]
            try:
                for number, answer in enumerate(answers):
                    workers.append(self._server.start(self._main))
                    message = {"job": str(given), "answer": str(answer), "worker": number, "addresses": addresses}
                    workers[-1].channel.send(message)
                found = _Listening(workers, matching, timeout_s).found()
            finally:
                codes = [self._server.end(worker) for worker in workers]
        if isinstance(found, int):
            return _ended(found, codes[found], workers[found].output, count)
        if found is not None:
            return found
        known = tuple([pickle.loads(one.read_bytes()) for one in answers])  # noqa: S301 - of processes started here
        for file in (given, *answers):
            file.unlink()
        return Ran(known, matching.unequal)


@final
class _Listening:
    """Reads what the workers of one run report."""

    def __init__(self, workers: Sequence[Worker], matching: Matching, timeout_s: float) -> None:
        self._workers, self._matching, self._timeout_s = workers, matching, timeout_s
        self._connected: set[int] = set()
        self._answered: set[int] = set()

    def found(self) -> Finding | int | None:
        """Waits until all workers have answered: None; or returns what ends the run.

        A number is that of a worker whose process has ended. Raises InvalidArgument for a program that a worker cannot
        load, and a result that cannot be read.
        """
        deadline = time.monotonic() + self._timeout_s
        while len(self._answered) < len(self._workers):
            waited = {one.channel: number for number, one in enumerate(self._workers) if number not in self._answered}
            channels = ready([*waited], deadline - time.monotonic())
            if not channels:
                return self._too_late()
            for number in [waited[channel] for channel in channels]:
                try:
                    messages = self._workers[number].channel.drain()
                except Closed:
                    return number
                for message in messages:
                    self._take(number, message)
            finding = self._matching.finding()
            if finding is not None:
                return finding
        return None

    def _take(self, worker: int, message: Mapping[str, Any]) -> None:
        if "call" in message:
            self._matching.called(worker, call_of(message))
        elif "raised" in message:
            self._matching.raised(worker, *message["raised"])
        elif "returned" in message:
            self._matching.returned(worker)
        elif "connected" in message:
            self._connected.add(worker)
        elif "refused" in message:
            raise InvalidArgument(message["refused"])
        else:
            self._answered.add(worker)

    def _too_late(self) -> Finding:
        lines = [
            line if number in self._connected else f"worker {number}: has not connected to the others"
            for number, line in enumerate(self._matching.lines())
        ]
        head = f"The {len(lines)} workers did not end in {self._timeout_s:g} s. {_ADVICE}. The last that they reported:"
        return Finding("time limit", "\n  ".join([head, *lines]))


def _ended(worker: int, code: int, output: Path, count: int) -> Finding:
    how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
    printed = output.read_text(errors="replace").strip().splitlines() if output.exists() else []
    end = ["The end of its output:", *printed[-_LINES:]] if printed else []
    return Finding("PeerFailed", "\n  ".join([f"The process of worker {worker} of {count} {how}.", *end]))
