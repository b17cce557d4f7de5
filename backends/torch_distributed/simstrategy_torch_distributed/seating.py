"""The process of a script that spawns its ranks itself: what it spawns is run by ranks that wait for it.

`seat.py` is the other side. Each spawned process takes the first seat that is free, which has the number of the rank.
A manager of `multiprocessing` is no rank and stays what it is.
"""

import importlib
import os
import selectors
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, final

from simstrategy.errors import InvalidArgument, Unsupported
from simstrategy.launch.channel import Channel, Closed
from simstrategy_torch_distributed.beginning import begun
from simstrategy_torch_distributed.gpus import map_cuda_names
from simstrategy_torch_distributed.outputs import ERRORS, print_to
from simstrategy_torch_distributed.process_jobs import POPEN, end_children, job_of
from simstrategy_torch_distributed.program import Ending, finish, run_program
from simstrategy_torch_distributed.spawned_process import SpawnedProcess

__all__ = ["serve"]

_MANAGERS: Final = "multiprocessing.managers"
"""The module of what a manager's process runs."""
_POOLS: Final = ("multiprocessing.pool", "concurrent.futures.process")
"""The modules of what workers of pools run."""
_FORKED: Final = (
    "The script starts processes by forking itself, and these are no ranks: they share its memory. Call "
    "torch.multiprocessing.set_start_method('spawn') first, under if __name__ == '__main__'"
)
_NONE: Final = (
    "The script starts no process. --as python is for scripts that spawn their ranks themselves: give --as torchrun "
    "for one that torchrun starts"
)
_KILLED: Final = -9
"""The exit code of a process whose rank is gone."""


def serve(channel: Channel, output: Path) -> int:
    """Receives the script and the socket at which ranks wait; runs it, and sends how it ended."""
    job, listening = channel.receive()
    assert listening is not None
    print_to(output, Path(f"{output}{ERRORS}"))
    with begun(job, job["ranks"], output):
        seats = _Seats(socket.socket(fileno=listening), job["ranks"])
        for name in POPEN:
            module = vars(importlib.import_module(name))
            module["Popen"] = seats.starting(module["Popen"])
        if job["device"] == "cpu-for-cuda":
            map_cuda_names(0, job["ranks"])
        ending = run_program(job["script"], job["arguments"], is_module=job["is_module"])
        end_children()
        finish()
        seats.end(ending)
        channel.send({"code": ending.code, "text": ending.text})
    return ending.code


@final
class _Seats:
    """The ranks that wait for processes.  listening: to which they connect; count: how many there are."""

    def __init__(self, listening: socket.socket, count: int) -> None:
        self._listening = listening
        self._count = count
        self._lock = threading.Lock()
        self._channels: dict[int, Channel] = {}
        """Of the ranks that have come."""
        self._processes: dict[int, int] = {}
        self._running: dict[int, SpawnedProcess] = {}
        """What ranks run now."""
        self._started = 0
        self._selector = selectors.DefaultSelector()
        self._forks = 0
        os.register_at_fork(after_in_parent=self._forked)

    def starting(self, usual: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Returns what `multiprocessing` calls as Popen.  usual: its own."""

        def start(process: Any) -> Any:
            target = vars(process).get("_target")
            module = None if target is None else target.__module__
            if module in _POOLS:
                raise Unsupported(
                    "A pool gives a task to whichever of its processes is free, so no process has the number of a "
                    "rank. Start the ranks with torch.multiprocessing.spawn, or each as a Process."
                )
            return usual(process) if module == _MANAGERS else self._start(process)

        return start

    def _start(self, process: Any) -> SpawnedProcess:
        """Gives a process to a rank.  Raises InvalidArgument where all are taken, and what pickling raises."""
        made = SpawnedProcess()
        job, tracker = job_of(process, made)
        with self._lock:
            free = [number for number in range(self._count) if number not in self._running]
            if not free:
                raise InvalidArgument(
                    f"The script spawns more processes at a time than the {self._count} replicas of this run. Give it "
                    f"their number, such as -- --gpus {{replicas}}, or let it ask torch.cuda.device_count() with "
                    f"--device cpu-for-cuda."
                )
            channel = self._channel(free[0])
            alive = made.began(self._processes[free[0]])
            files = [*made.files, alive, tracker]
            own = {"files": len(files), "environment": dict(os.environ), "folder": os.getcwd()}
            try:
                channel.send({**job, **own})
                for file in files:
                    channel.send({}, hand=file)
            except Closed:
                made.ended(_KILLED)
                return made  # the rank has failed before, or was ended
            finally:
                os.close(alive)
            self._running[free[0]] = made
            if not self._started:
                threading.Thread(target=self._serve, name="simstrategy seats", daemon=True).start()
            self._started += 1
        return made

    def _forked(self) -> None:
        self._forks += 1

    def _channel(self, rank: int) -> Channel:
        """Returns the channel of a rank, for which it waits."""
        while rank not in self._channels:
            channel = Channel(self._listening.accept()[0])
            message, _ = channel.receive()
            self._channels[message["rank"]] = channel
            self._processes[message["rank"]] = message["process"]
            self._selector.register(channel, selectors.EVENT_READ, message["rank"])
        return self._channels[rank]

    def _serve(self) -> None:
        """Notes how processes end.  A rank whose channel has closed was killed."""
        while True:
            for key, _ in self._selector.select(0.1):
                try:
                    code = self._code(key.data)
                except Closed:
                    code = _KILLED
                    self._selector.unregister(key.fileobj)
                with self._lock:
                    made = self._running.pop(key.data, None)
                if made is not None:
                    made.ended(code)

    def _code(self, rank: int) -> int:
        code: int = self._channels[rank].receive()[0]["code"]
        return code

    def end(self, ending: Ending) -> None:
        """Lets ranks end: with the last process that each has run, or with why it has none."""
        text = f"was given no process: the script spawned {self._started} for {self._count} replicas, and {ending.text}"
        if not self._started and not ending.code:
            text = f"{Unsupported.__name__}({_FORKED if self._forks else _NONE})"
        for rank in range(self._count):
            try:
                self._channel(rank).send({"end": text})
            except Closed:
                continue  # it has failed, or was ended
