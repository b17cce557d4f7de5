"""Runs a program on simulated ranks: starts them, brings their calls to the matcher, and ends what is left."""

import os
import selectors
import socket
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, final

from simstrategy.launch.channel import Closed
from simstrategy.launch.server import Server
from simstrategy_torch_distributed.environment import cpu_variable, threads_variable, variables
from simstrategy_torch_distributed.outputs import Outputs, remove_files
from simstrategy_torch_distributed.preloading import modules_of_torch
from simstrategy_torch_distributed.report import RankReport, Report
from simstrategy_torch_distributed.settings import OF_RANK, Function, Settings, Watching
from simstrategy_torch_distributed.world import World

__all__ = ["Function", "Settings", "run", "run_on", "started", "started_apart"]

_PRELOAD: Final = ("simstrategy_torch_distributed.rank", "simstrategy_torch_distributed.stored")
_RANK: Final = "simstrategy_torch_distributed.rank:serve"
_STORE: Final = "simstrategy_torch_distributed.stored:serve"
_TURN_S: Final = 0.1
"""How often outputs are copied and ranks are looked at, at least."""
_ENDING_S: Final = 0.5
"""How long a process may take to end after it has closed its files."""
_LOOPBACK: Final = "127.0.0.1"
_HASHES: Final = "PYTHONHASHSEED"
_HASH_SEEDS: Final = ("171", "596")
"""Of the texts of even ranks, and of odd ones.

Two texts may have one order in both. Of 50 usual pairs of names, as weight and bias, 41 have another one in these two.
"""


def run(settings: Settings) -> Report:
    """Runs a program on simulated ranks until all have ended; returns how, and what was found.

    Rank 0 prints to this process's output. Raises BackendUnavailable where processes cannot be started.
    """
    servers = started_apart(modules_of_torch(settings.script))
    try:
        return run_on(servers, settings)
    finally:
        for server in servers:
            server.close()


def started(modules: Sequence[str] = (), environment: Mapping[str, str] = MappingProxyType({})) -> Server:
    """Starts a forkserver for ranks, which has imported torch and these modules; call its `close` at the end.

    environment: variables of its process.
    """
    return Server([*_PRELOAD, *modules], environment)


def started_apart(modules: Sequence[str] = ()) -> tuple[Server, ...]:
    """Starts forkservers as `started` does, for even ranks and for odd ones, whose texts have other hashes.

    Processes of torchrun differ in these too, so that sets of texts have another order on each rank. One forkserver
    where PYTHONHASHSEED is set: torchrun's ranks have that one in common.
    """
    if os.environ.get(_HASHES, "random") != "random":
        return (started(modules),)
    return tuple([started(modules, {_HASHES: seed}) for seed in _HASH_SEEDS])


def run_on(servers: Sequence[Server], settings: Settings) -> Report:
    """Runs a program as `run` does, on ranks of forkservers by turns, which may run others afterwards.

    servers: of `started` or `started_apart`, at least one.
    """
    with ExitStack() as stack:
        return _Run(settings, servers, stack).report()


@final
class _Run:
    """One run: its processes, and the loop that serves them."""

    def __init__(self, settings: Settings, servers: Sequence[Server], stack: ExitStack) -> None:
        self._settings = settings
        self._servers = servers
        self._selector = stack.enter_context(selectors.DefaultSelector())
        listening = stack.enter_context(socket.create_server((_LOOPBACK, 0), backlog=settings.ranks + 16))
        port = listening.getsockname()[1]
        memory = os.memfd_create("simstrategy")
        stack.callback(os.close, memory)
        os.ftruncate(memory, settings.ranks << 38)
        store = servers[0].start(_STORE)
        stack.callback(servers[0].end, store)
        store.channel.send({"port": port}, hand=listening.fileno())
        self._world = World(settings, store, port)
        self._workers = self._world.workers
        self._files: list[Path] = []
        """The begin of the names of the files that this run has written."""
        stack.callback(self._remove_files)
        stack.callback(self._end_all)
        for rank in range(settings.ranks):
            self._start(rank, port, memory)
        self._outputs = Outputs(self._workers, tee=settings.tee)

    def _start(self, rank: int, port: int, memory: int) -> None:
        settings, watching = self._settings, self._settings.watching
        worker = self._workers[rank] = self._server_of(rank).start(_RANK)
        self._files.append(worker.output)
        job: dict[str, Any] = {
            "rank": rank,
            "size": settings.ranks,
            "script": settings.script,
            "arguments": [text.replace(OF_RANK, str(rank)) for text in settings.arguments],
            "is_module": settings.is_module,
            "function": settings.function,
            "seat": settings.seat,
            "order": settings.order,
            "device": settings.device,
            "seed": settings.seed,
            "to_file": rank > 0 or settings.tee or watching is not None,
            "apart": settings.tee or watching is not None,
            "environment": {
                **os.environ,
                **variables(rank, settings.ranks, port, worker.output.parent.name, f"{worker.output}.error"),
                **threads_variable(settings.ranks, os.environ),
                **cpu_variable(settings.device, os.environ),
            },
            "folder": settings.folder or os.getcwd(),
            "fault": _fault_of(settings, rank),
            "watching": _watching_of(watching, rank),
            "listing": None if watching is None or rank else watching.listing,
            "laws": list(settings.laws),
        }
        worker.channel.send(job, hand=memory)
        self._selector.register(worker.channel, selectors.EVENT_READ, rank)

    def _server_of(self, rank: int) -> Server:
        return self._servers[rank % len(self._servers)]

    def report(self) -> Report:
        """Serves the ranks until all have ended."""
        deadline_s = None
        world = self._world
        while self._workers:
            events = self._selector.select(_TURN_S)
            now_s = time.monotonic()
            for key, _ in events:
                self._receive(key.data, now_s)
            world.send()
            if not events or world.matcher.idle or world.matcher.failed is not None:
                world.examine(now_s)
            if not events:
                self._outputs.copy()
                world.look(now_s)
            if deadline_s is None and world.matcher.finding is not None:
                deadline_s = now_s + self._settings.grace_s
            if deadline_s is not None and (now_s > deadline_s or self._workers.keys() <= {world.matcher.stopped}):
                self._end_all()
        self._outputs.copy(ended=True)
        return self._reported()

    def _receive(self, rank: int, now_s: float) -> None:
        if rank in self._workers:
            try:
                self._world.receive(rank, now_s)
            except Closed:
                self._ended(rank)

    def _ended(self, rank: int) -> None:
        """Takes the exit code of a rank whose channel has closed; ends what it has left behind."""
        worker = self._workers.pop(rank)
        self._selector.unregister(worker.channel)
        left = rank not in self._world.endings and _goes_on(worker.process)
        code = self._server_of(rank).end(worker)
        text = f"was killed by signal {-code}" if code < 0 else f"has ended with exit code {code}"
        if left:
            code, text = (
                1,
                "has closed its connection and gone on: close only what the script has opened, and replace no rank",
            )
        self._world.end(rank, code, text)

    def _end_all(self) -> None:
        for rank in list(self._workers):
            text = "was ended, because another rank had failed or a finding was made"
            self._world.endings.setdefault(rank, (-15, text))
            self._world.forced(rank)
            self._ended(rank)

    def _remove_files(self) -> None:
        for output in self._files:
            remove_files(output)

    def _reported(self) -> Report:
        world = self._world
        ranks = [
            RankReport(rank, *world.endings[rank], self._outputs.text(rank)) for rank in range(self._settings.ranks)
        ]
        broken, remarks = world.laws.close()
        return Report(
            tuple(ranks),
            world.matcher.finding,
            world.matcher.failed,
            tuple(world.matcher.remarks),
            world.record,
            broken,
            remarks,
            world.laws.received,
            world.planted,
            world.matcher.open_then,
            world.has_joined,
        )


def _watching_of(watching: Watching | None, rank: int) -> list[Any] | None:
    """Returns what a rank records, as its process reads it; None where it records nothing."""
    if watching is None:
        return None
    reseeded = [1 + rank, list(watching.reseeded)] if watching.reseeded else None
    nudging = [watching.sums, list(watching.predicting), watching.narrow]
    return [watching.files[rank], watching.nudge, watching.detailed, reseeded, watching.shared, *nudging]


def _fault_of(settings: Settings, rank: int) -> list[Any] | None:
    """Returns kind and point of what is planted in a rank; None where no fault is observed."""
    fault = settings.fault
    if fault is None:
        return None
    return [fault.kind, fault.point] if fault.rank == rank else ["", 0]


def _goes_on(process: int) -> bool:
    """Returns whether a process that has closed its channel has not ended."""
    end_s = time.monotonic() + _ENDING_S
    while time.monotonic() < end_s:
        try:
            if Path(f"/proc/{process}/stat").read_text(errors="replace").rpartition(")")[2].split()[0] == "Z":
                return False
        except OSError:
            return False
        time.sleep(0.01)
    return True
