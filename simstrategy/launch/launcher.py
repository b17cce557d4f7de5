"""Starts workers on this machine, runs jobs in them, and removes all processes and files at the end.

For checks, tests and teaching: one machine, a few processes. One process imports the modules that the workers need
(`forkserver.py`) and forks the workers, which are kept: a job on existing workers starts at once.
"""

import contextlib
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NamedTuple, final

from simstrategy.errors import BackendUnavailable, InvalidArgument, InvalidType
from simstrategy.launch.channel import Closed, ready
from simstrategy.launch.ports import reserved_port
from simstrategy.launch.server import Server, Worker
from simstrategy.short_repr import short_repr

__all__ = ["JobResult", "Launcher"]

_GRACE_S: Final = 10.0
_REMOVED: Final = ("TORCHELASTIC_USE_AGENT_STORE", "TORCHELASTIC_RESTART_COUNT", "TF_CONFIG")
"""Variables that another launcher may have set for this process, and that do not hold for its workers."""


class JobResult(NamedTuple):
    """How a job ended in one worker: with a value, with an error, or with the end of the process."""

    value: Any
    error: tuple[str, str, str] | None
    """Class name, text and traceback of the exception; None where there was none."""
    code: int | None
    """The exit code if the process ended, negative for a signal; None while it runs."""
    timed_out: bool
    """Whether the worker was killed because the time limit was reached."""
    seconds: float
    output: str
    """What the worker printed during the job."""

    @property
    def ok(self) -> bool:
        """Whether the job returned a value."""
        return self.error is None and self.code is None


@final
class Launcher:
    """Starts `workers` processes on this machine and runs jobs in them; they are kept from job to job.

    Use it as a context manager, or call `close`. preload: names of modules that are imported once for all workers.
    Raises InvalidArgument for less than one worker, and BackendUnavailable where the system is not Linux, or no
    process can be started.
    """

    def __init__(self, workers: int, *, preload: Sequence[str] = ()) -> None:
        if not isinstance(workers, int) or isinstance(workers, bool) or workers < 1:
            raise InvalidArgument(
                f"A launcher takes a number of workers of at least 1, got {short_repr(workers)}. Pass for example "
                f"Launcher(2)."
            )
        if not isinstance(preload, (list, tuple)) or not all(
            isinstance(one, str) and one.isprintable() for one in preload
        ):
            raise InvalidType(f"preload is a list of names of modules, got {preload!r}. Pass for example ['numpy'].")
        self._workers: list[Worker | None] = [None] * workers
        self._token = os.urandom(16).hex()  # the workers' control channels accept no other process
        self._server = Server(preload)
        self.folder = self._server.folder
        """The folder for files of the workers; only this user can read it, and it is removed at the end."""
        self.problem = self._server.problem
        """The error of the first module of `preload` that could not be imported, or None."""

    def __enter__(self) -> "Launcher":
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Kills all workers and every process that they started, and removes all files.  May be called again.

        Processes that run as another user are not ended.
        """
        self._server.close()

    def restart_workers(self) -> None:
        """Ends all workers and what they started: the next job starts new ones, in which no program has run."""
        for rank in self._ranks:
            self._terminate(rank)

    @property
    def processes(self) -> tuple[int, ...]:
        """The process ids of the forkserver and of all existing workers."""
        return (self._server.process, *[worker.process for worker in self._workers if worker is not None])

    def run(
        self,
        function: Callable[..., Any] | str,
        arguments: Sequence[Any] = (),
        *,
        timeout_s: float = 60.0,
        grace_s: float = _GRACE_S,
        environment: Mapping[str, str | None] | None = None,
    ) -> tuple[JobResult, ...]:
        """Calls a function in every worker and returns how each call ended, in rank order.

        function: one at the top level of a file, or "module:name". Its environment has RANK, LOCAL_RANK,
        WORLD_SIZE, LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT, and the variables of `environment`; None removes a
        variable. arguments, and the result: JSON values. timeout_s: the limit in seconds. grace_s: the limit for the
        other workers, in seconds, after one has failed. A worker that reaches its limit is killed, and replaced for
        the next job. Raises InvalidArgument for a function that other processes cannot find and for limits that are
        not above 0, and BackendUnavailable where a worker cannot be started.
        """
        place, name = _location(function)
        if not (timeout_s > 0 and grace_s >= 0):
            raise InvalidArgument(
                f"Time limits are seconds above 0, got timeout_s={short_repr(timeout_s)}, "
                f"grace_s={short_repr(grace_s)}."
            )
        with reserved_port() as port:
            try:
                started = [self._begin(rank, port, (place, name, list(arguments)), environment) for rank in self._ranks]
                return self._gather(started, timeout_s, grace_s)
            except BaseException:
                self.restart_workers()  # above all for an interrupt: the state of the workers is unknown
                raise

    @property
    def _ranks(self) -> range:
        return range(len(self._workers))

    def _begin(
        self, rank: int, port: int, job: tuple[str, str, list[Any]], environment: Mapping[str, str | None] | None
    ) -> int:
        """Sends a worker its job, starting the worker first if needed; returns the size of its output in bytes."""
        count = str(len(self._workers))
        settings: dict[str, str | None] = {
            **dict.fromkeys(_REMOVED),
            "RANK": str(rank),
            "LOCAL_RANK": str(rank),
            "WORLD_SIZE": count,
            "LOCAL_WORLD_SIZE": count,
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(port),
            "SIMSTRATEGY_TOKEN": self._token,
            **(environment or {}),
        }
        message = {"place": job[0], "name": job[1], "arguments": job[2], "environment": settings}
        worker = self._workers[rank] or self._start(rank)
        printed = worker.output.stat().st_size if worker.output.exists() else 0
        if not _accepts(worker, message):  # it ended, or was stopped, since its last job
            self._terminate(rank)
            worker, printed = self._start(rank), 0
            if not _accepts(worker, message):
                raise BackendUnavailable(f"A new worker {rank} ended at once. Read its output: {worker.output}")
        return printed

    def _start(self, rank: int) -> Worker:
        worker = self._workers[rank] = self._server.start("simstrategy.launch.worker:work")
        return worker

    def _terminate(self, rank: int) -> int | None:
        """Ends a worker; returns its exit code."""
        worker, self._workers[rank] = self._workers[rank], None
        return None if worker is None else self._server.end(worker)

    def _gather(self, printed: Sequence[int], timeout_s: float, grace_s: float) -> tuple[JobResult, ...]:
        start = time.monotonic()
        deadline = start + timeout_s
        ended: dict[int, JobResult] = {}
        answering = list(self._ranks)  # an answer may be in the buffer already
        while len(ended) < len(self._workers):
            timed_out = time.monotonic() >= deadline
            for rank in [rank for rank in self._ranks if rank not in ended] if timed_out else answering:
                found = self._ended(rank, printed[rank], time.monotonic() - start, timed_out=timed_out)
                if found is None:
                    continue
                ended[rank] = found
                if not found.ok:
                    deadline = min(deadline, time.monotonic() + grace_s)
            channels = {
                worker.channel: rank
                for rank, worker in enumerate(self._workers)
                if worker is not None and rank not in ended
            }
            if channels:
                answering = [channels[channel] for channel in ready([*channels], deadline - time.monotonic())]
        return tuple([ended[rank] for rank in self._ranks])

    def _ended(self, rank: int, printed: int, seconds: float, *, timed_out: bool) -> JobResult | None:
        """Returns how the job of a worker ended, or None if it has not ended; kills the worker after the time limit."""
        worker = self._workers[rank]
        assert worker is not None
        answer: dict[str, Any] = {}
        code: int | None = None
        try:
            message = worker.channel.poll()
            if message is not None:
                answer, timed_out = message[0], False
            elif timed_out:
                code = self._terminate(rank)
            else:
                return None
        except Closed:
            code, timed_out = self._terminate(rank), False
        with contextlib.suppress(OSError), open(worker.output, "rb") as file:
            file.seek(printed)
            output = file.read().decode(errors="replace")
        error = answer.get("error")
        return JobResult(answer.get("value"), error and tuple(error), code, timed_out, seconds, output)


def _accepts(worker: Worker, message: dict[str, Any]) -> bool:
    """Sends a worker a job; returns whether the worker confirmed it."""
    try:
        worker.channel.send(message)
        if not ready([worker.channel], _GRACE_S):
            return False
        worker.channel.receive()
    except Closed:
        return False
    return True


def _location(function: Callable[..., Any] | str) -> tuple[str, str]:
    """Returns the file or module of a function, and its name.  Raises InvalidArgument if it has none."""
    if isinstance(function, str):
        module, _, name = function.partition(":")
        if module and name.isidentifier():
            return module, name
        raise InvalidArgument(
            f"A job is a function or 'module:name', got {short_repr(function)}. Pass for example 'my_module:main'."
        )
    code = getattr(function, "__code__", None)
    name = getattr(function, "__qualname__", "")
    if code is None or not name.isidentifier() or not Path(code.co_filename).is_file():
        raise InvalidArgument(
            f"{short_repr(function)} cannot be called in other processes. Define a function at the top level of a file."
        )
    return str(Path(code.co_filename).resolve()), name
