"""Processes that a program spawns, forked from one that has imported torch: each may become a simulated rank.

`multiprocessing` starts all spawned processes by one class, whoever asks for them: torch.multiprocessing's functions,
pools, launchers, or a loop over Process. That class is replaced. Processes of the method "fork" stay what they are.
"""

import base64
import importlib
import os
import pickle
import selectors
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from typing import Any, Final, NamedTuple, final

from simstrategy.errors import InvalidArgument
from simstrategy.launch.channel import Channel, Closed
from simstrategy.launch.server import Server, Worker
from simstrategy_torch_distributed.outputs import remove_files
from simstrategy_torch_distributed.process_jobs import POPEN, end_children, job_of
from simstrategy_torch_distributed.settings import Settings
from simstrategy_torch_distributed.spawned_process import SpawnedProcess
from simstrategy_torch_distributed.worlds import Seat, Worlds

__all__ = ["First", "Spawning", "simulate_spawned"]

_MAIN: Final = "simstrategy_torch_distributed.spawned:serve"
_TURN_S: Final = 0.1
"""How often groups are looked at, at least, while there are any."""


class First(NamedTuple):
    """What a spawned process calls before all else.  target: "module:function", of an installed module.

    data: gives what the function is called with, when a process is started; it is pickled.
    """

    target: str
    data: Callable[[], Any]


def simulate_spawned(spawning: "Spawning") -> None:
    """Makes all processes that this one spawns from now on processes of `spawning`."""
    for name in POPEN:
        vars(importlib.import_module(name))["Popen"] = spawning.start


@final
@dataclass(eq=False, slots=True)
class _Child:
    """A process that has not ended.  number: the least that none of the others has. seats: one for each group."""

    process: SpawnedProcess
    worker: Worker
    number: int
    seats: list[Seat] = field(default_factory=list)


@final
class Spawning:
    """Starts the spawned processes of a program, and serves those that are ranks, in a thread.

    server: gives the forkserver that they are forked from, when the first one is started. settings: of each default
    group, but for the number of ranks. first: what each process calls first.
    """

    def __init__(self, server: Callable[[], Server], settings: Settings, first: First | None = None) -> None:
        self._server = server
        self._settings = settings
        self._first = first
        self._lock = threading.Lock()
        """Held while the forkserver is used, and while what is below changes."""
        self._children: list[_Child] = []
        self._worlds = Worlds(settings)
        self._selector = selectors.DefaultSelector()
        self._thread: threading.Thread | None = None
        self.started = 0
        """How many processes have been started."""
        self.ranks = 0
        """How many of them have joined a group; one that has joined two counts twice."""

    def prepare(self) -> None:
        """Begins to start the forkserver, which takes some seconds; without it the first process does."""
        with self._lock:
            self._server()

    def start(self, process: BaseProcess) -> SpawnedProcess:
        """Starts a process; `multiprocessing` calls it as Popen.  Raises what pickling the process raises."""
        made = SpawnedProcess()
        job, tracker = job_of(process, made)
        with self._lock:
            worker = self._server().start(_MAIN)
            numbers = {one.number for one in self._children}
            child = _Child(made, worker, next(one for one in range(len(numbers) + 1) if one not in numbers))
            alive = made.began(worker.process)
            try:
                self._send(job, child, [*made.files, 1, 2, alive, tracker])
            finally:
                os.close(alive)
            self._children.append(child)
            self.started += 1
            self._selector.register(worker.channel, selectors.EVENT_READ, child)
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, name="simstrategy ranks", daemon=True)
                self._thread.start()
        return made

    def wait(self) -> None:
        """Waits for the processes that have not ended."""
        end_children()

    def findings(self) -> list[str]:
        """Returns what groups show that have ended since the last call and no rank has raised, as texts."""
        with self._lock:
            found, self._worlds.findings = self._worlds.findings, []
        return found

    def _send(self, job: dict[str, Any], child: _Child, files: list[int]) -> None:
        first, settings = self._first, self._settings
        own = {
            "first": None if first is None else [first.target, base64.b64encode(pickle.dumps(first.data())).decode()],
            "files": len(files),
            "environment": dict(os.environ),
            "folder": os.getcwd(),
            "seed": settings.seed,
            "number": child.number,
            "order": settings.order,
            "laws": settings.laws,
        }
        child.worker.channel.send(job | own)
        for file in files:
            child.worker.channel.send({}, hand=file)

    def _serve(self) -> None:
        try:
            self._serve_all()
        except BaseException:
            for child in self._children:  # nobody is to wait for what is served no more
                child.process.ended(1)
            self._server().close()
            raise

    def _serve_all(self) -> None:
        while True:
            events = self._selector.select(_TURN_S if self._worlds else None)
            with self._lock:
                now_s = time.monotonic()
                for key, _ in events:
                    if isinstance(key.data, _Child):
                        self._heard(key.data, now_s)
                    elif key.data.channel.fileno() >= 0:
                        try:
                            self._worlds.receive(key.data, now_s)
                        except Closed:
                            self._selector.unregister(key.data.channel)
                self._worlds.attend(now_s, is_quiet=not events)

    def _heard(self, child: _Child, now_s: float) -> None:
        """Takes a request to join a group, or the end of a process."""
        try:
            message, end = child.worker.channel.receive()
        except Closed:
            self._ended(child, now_s)
            return
        channel = Channel(socket.socket(fileno=end))
        worker = child.worker._replace(channel=channel)
        for seat in child.seats:
            self._worlds.leave(seat, 0, "has joined another default group", now_s)
        try:
            seat = self._worlds.join(message["place"], message["rank"], message["size"], worker)
        except InvalidArgument as error:
            channel.close()
            child.worker.channel.send({"problem": str(error)})
            return
        child.seats.append(seat)
        self.ranks += 1
        self._selector.register(channel, selectors.EVENT_READ, seat)
        child.worker.channel.send({}, hand=seat.memory)

    def _ended(self, child: _Child, now_s: float) -> None:
        """Takes the exit code of a process whose channel has closed; ends what it has left behind."""
        self._selector.unregister(child.worker.channel)
        self._children.remove(child)
        code = self._server().end(child.worker)
        remove_files(child.worker.output)
        text = f"was killed by signal {-code}" if code < 0 else f"has ended with exit code {code}"
        for seat in child.seats:
            self._worlds.leave(seat, code, text, now_s)
            with suppress(KeyError):
                self._selector.unregister(seat.channel)
            seat.channel.close()
        child.process.ended(code)
