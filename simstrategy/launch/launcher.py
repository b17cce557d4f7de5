"""Starts workers on this machine, gives them jobs, and sees that nothing is left of them.

For checks, tests and teaching: one machine, a few processes. Workers are forked from one process that
has imported what they need (`nursery.py`), and stay: a job on workers that exist starts at once.
"""

import contextlib
import os
import shutil
import subprocess
import sys
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, final

from simstrategy.errors import BackendUnavailable, InvalidArgument
from simstrategy.launch.channel import Channel, Closed, pair, ready
from simstrategy.launch.ports import reserved_port

__all__ = ["Ended", "Launcher"]

_GRACE_S: Final = 10.0
_FORGOTTEN: Final = ("TORCHELASTIC_USE_AGENT_STORE", "TORCHELASTIC_RESTART_COUNT", "TF_CONFIG")
"""What a launcher around this one may have set, and is not true of its workers."""


class Ended(NamedTuple):
    """How a job ended in one worker: with a value, with an error, or with the whole process."""

    value: Any
    error: tuple[str, str, str] | None
    """Class, text and traceback."""
    code: int | None
    """Exit code where the process ended, negative for a signal; None where it lives."""
    late: bool
    """Whether it was killed because its time was over."""
    seconds: float
    output: str
    """What it printed during the job."""

    @property
    def well(self) -> bool:
        """Tells whether there is a value."""
        return self.error is None and self.code is None


@final
class _Worker:
    """One process, and the end of its channel."""

    __slots__ = ("channel", "output", "process")

    def __init__(self, process: int, channel: Channel, output: Path) -> None:
        self.process = process
        self.channel = channel
        self.output = output


@final
class Launcher:
    """`workers` processes of this machine.  Use it as a context manager, or call `close`.

    preload: modules that are imported once for all of them. Raises InvalidArgument for less than one worker,
    and BackendUnavailable where the system has no fork, or nothing can be started.
    """

    def __init__(self, workers: int, *, preload: Sequence[str] = ()) -> None:
        if not isinstance(workers, int) or isinstance(workers, bool) or workers < 1:
            raise InvalidArgument(f"A launcher takes a number of workers of at least 1, got {workers!r}.")
        if sys.platform != "linux":
            raise BackendUnavailable(
                f"The local launcher needs Linux, and this is {sys.platform}. Start the workers with torchrun."
            )
        self._workers: list[_Worker | None] = [None] * workers
        self._token = os.urandom(16).hex()  # the workers' control channels accept no other process
        self._control, given = pair()
        settings = os.environ | {"OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1")}
        command = [sys.executable, "-P", "-m", "simstrategy.launch.nursery", str(given.fileno()), *preload]
        with given:
            # A session of its own: what the terminal sends this process, this process hands on as it sees fit.
            self._nursery = subprocess.Popen(
                command, env=settings, pass_fds=[given.fileno()], stdin=subprocess.DEVNULL, start_new_session=True
            )
        self._end = weakref.finalize(self, _end, self._control, self._nursery, self._workers, folders := [])
        try:
            told, _ = self._control.receive()
        except Closed as error:
            self.close()
            raise BackendUnavailable(f"The local launcher could not start {' '.join(command)}.") from error
        except BaseException:
            self.close()
            raise
        self.folder = Path(told["folder"])
        """For what workers write; this user's alone, and removed at the end."""
        folders.append(told["folder"])
        self.problem: str | None = told["problem"]
        """What was wrong with a module that was to be imported for all."""

    def __enter__(self) -> "Launcher":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Kills all workers and what they started; no process, port or file is left.  May be repeated."""
        self._end()

    def renew(self) -> None:
        """Ends the workers there are: the next job gets new ones, of which no program has run."""
        for rank in self._ranks:
            self._bury(rank)

    @property
    def processes(self) -> tuple[int, ...]:
        """The process ids of the nursery and of the workers there are."""
        return (self._nursery.pid, *[worker.process for worker in self._workers if worker is not None])

    def run(
        self,
        function: Callable[..., Any] | str,
        arguments: Sequence[Any] = (),
        *,
        timeout_s: float = 60.0,
        grace_s: float = _GRACE_S,
        environment: Mapping[str, str | None] | None = None,
    ) -> tuple[Ended, ...]:
        """Calls a function in every worker and returns how each call ended, in rank order.

        function: at the top level of a file, or as "module:name". It finds RANK, WORLD_SIZE, MASTER_ADDR and
        the like in its environment. arguments, and what it returns: values that JSON has. grace_s: how long
        the others get once a worker has failed. Workers that are late are killed, and replaced for the next job.
        """
        place, name = _location(function)
        if not (timeout_s > 0 and grace_s >= 0):
            raise InvalidArgument(f"Time limits are seconds above 0, got timeout_s={timeout_s!r}, grace_s={grace_s!r}.")
        with reserved_port() as port:
            try:
                started = [self._begin(rank, port, (place, name, list(arguments)), environment) for rank in self._ranks]
                return self._gather(started, timeout_s, grace_s)
            except BaseException:
                self.renew()  # an interrupt, above all: nobody knows what the workers do now
                raise

    @property
    def _ranks(self) -> range:
        return range(len(self._workers))

    def _begin(
        self, rank: int, port: int, job: tuple[str, str, list[Any]], environment: Mapping[str, str | None] | None
    ) -> int:
        """Gives a worker its job, and starts it first if there is none; returns how much it has printed so far."""
        count = str(len(self._workers))
        settings: dict[str, str | None] = {
            **dict.fromkeys(_FORGOTTEN),
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
        if not _takes(worker, message):  # it ended, or was stopped, since its last job
            self._bury(rank)
            worker, printed = self._start(rank), 0
            if not _takes(worker, message):
                raise BackendUnavailable(f"A new worker {rank} ended at once. Its output: {worker.output}")
        return printed

    def _start(self, rank: int) -> _Worker:
        channel, given = pair()
        with given:
            process = self._ask({"do": "start"}, hand=given.fileno())
        worker = self._workers[rank] = _Worker(process, channel, self.folder / f"output{process}")
        return worker

    def _bury(self, rank: int) -> int | None:
        """Ends a worker; returns its exit code."""
        worker, self._workers[rank] = self._workers[rank], None
        if worker is None:
            return None
        worker.channel.close()
        code: int = self._ask({"do": "end", "process": worker.process})
        return code

    def _ask(self, message: dict[str, Any], *, hand: int | None = None) -> Any:
        try:
            self._control.send(message, hand=hand)
            return self._control.receive()[0]
        except (Closed, OSError) as error:
            raise BackendUnavailable(
                "The local launcher was closed, or its nursery killed. Make another one."
            ) from error

    def _gather(self, printed: Sequence[int], timeout_s: float, grace_s: float) -> tuple[Ended, ...]:
        begun = time.monotonic()
        deadline = begun + timeout_s
        ended: dict[int, Ended] = {}
        answering = list(self._ranks)  # an answer may have come along with what was read so far
        while len(ended) < len(self._workers):
            late = time.monotonic() >= deadline
            for rank in [rank for rank in self._ranks if rank not in ended] if late else answering:
                found = self._ended(rank, printed[rank], time.monotonic() - begun, late=late)
                if found is None:
                    continue
                ended[rank] = found
                if not found.well:
                    deadline = min(deadline, time.monotonic() + grace_s)
            channels = {
                worker.channel: rank
                for rank, worker in enumerate(self._workers)
                if worker is not None and rank not in ended
            }
            if channels:
                answering = [channels[channel] for channel in ready([*channels], deadline - time.monotonic())]
        return tuple([ended[rank] for rank in self._ranks])

    def _ended(self, rank: int, printed: int, seconds: float, *, late: bool) -> Ended | None:
        """Returns how a worker's job ended, None if it has not; a late one is killed."""
        worker = self._workers[rank]
        assert worker is not None
        answer: dict[str, Any] = {}
        code: int | None = None
        try:
            told = worker.channel.poll()
            if told is not None:
                answer, late = told[0], False
            elif late:
                code = self._bury(rank)
            else:
                return None
        except Closed:
            code, late = self._bury(rank), False
        with contextlib.suppress(OSError), open(worker.output, "rb") as file:
            file.seek(printed)
            output = file.read().decode(errors="replace")
        error = answer.get("error")
        return Ended(answer.get("value"), error and tuple(error), code, late, seconds, output)


def _takes(worker: _Worker, message: dict[str, Any]) -> bool:
    """Gives a worker a job; returns whether it took it."""
    try:
        worker.channel.send(message)
        if not ready([worker.channel], _GRACE_S):
            return False
        worker.channel.receive()
    except Closed:
        return False
    return True


def _location(function: Callable[..., Any] | str) -> tuple[str, str]:
    """Returns where a function is found: its file or module, and its name."""
    if isinstance(function, str):
        module, _, name = function.partition(":")
        if module and name.isidentifier():
            return module, name
        raise InvalidArgument(f"A job is a function, or 'module:name', got {function!r}.")
    code = getattr(function, "__code__", None)
    name = getattr(function, "__qualname__", "")
    if code is None or not name.isidentifier() or not Path(code.co_filename).is_file():
        raise InvalidArgument(
            f"{function!r} cannot be called in other processes: it has to be a function at the top level of a file."
        )
    return str(Path(code.co_filename).resolve()), name


def _end(
    control: Channel, nursery: "subprocess.Popen[bytes]", workers: list[_Worker | None], folders: list[str]
) -> None:
    """Lets go of the nursery, which ends the workers and removes the folder; does so itself where it was killed."""
    for worker in workers:
        if worker is not None:
            worker.channel.close()
    control.close()
    try:
        nursery.wait(_GRACE_S)
    except subprocess.TimeoutExpired:
        nursery.kill()
        nursery.wait()
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
