"""Runs a program on simulated ranks: starts them, brings their calls to the matcher, and ends what is left."""

import os
import selectors
import socket
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, final

from simstrategy.launch.channel import Closed
from simstrategy.launch.server import Server, Worker
from simstrategy.schedules import Seeded
from simstrategy_torch_distributed.asleep import Asleep
from simstrategy_torch_distributed.environment import threads_variable, variables
from simstrategy_torch_distributed.laws.judged import Laws
from simstrategy_torch_distributed.matching import Matcher
from simstrategy_torch_distributed.outputs import Outputs
from simstrategy_torch_distributed.preloading import modules_of_torch
from simstrategy_torch_distributed.record import Record
from simstrategy_torch_distributed.report import RankReport, Report
from simstrategy_torch_distributed.settings import Function, Settings
from simstrategy_torch_distributed.stacks import Stacks

__all__ = ["Function", "Settings", "run", "run_on", "started"]

_PRELOAD: Final = ("simstrategy_torch_distributed.rank", "simstrategy_torch_distributed.stored")
_RANK: Final = "simstrategy_torch_distributed.rank:serve"
_STORE: Final = "simstrategy_torch_distributed.stored:serve"
_GRACE_S: Final = 2.0
"""How long ranks may take to end after a finding, or after another one has failed."""
_TURN_S: Final = 0.1
"""How often outputs are copied and ranks are looked at, at least."""
_ENDING_S: Final = 0.5
"""How long a process may take to end after it has closed its files."""
_LOOPBACK: Final = "127.0.0.1"


def run(settings: Settings) -> Report:
    """Runs a program on simulated ranks until all have ended; returns how, and what was found.

    Rank 0 prints to this process's output. Raises BackendUnavailable where processes cannot be started.
    """
    server = started(modules_of_torch(settings.script))
    try:
        return run_on(server, settings)
    finally:
        server.close()


def started(modules: Sequence[str] = ()) -> Server:
    """Starts a forkserver for ranks, which has imported torch and these modules; call its `close` at the end."""
    return Server([*_PRELOAD, *modules])


def run_on(server: Server, settings: Settings) -> Report:
    """Runs a program as `run` does, on ranks of a forkserver of `started`, which may run others afterwards."""
    with ExitStack() as stack:
        return _Run(settings, server, stack).report()


@final
class _Run:
    """One run: its processes, and the loop that serves them."""

    def __init__(self, settings: Settings, server: Server, stack: ExitStack) -> None:
        self._settings = settings
        self._server = server
        self._record = Record() if settings.record else None
        self._matcher = Matcher(settings.ranks, Seeded(settings.seed), self._record)
        self._laws = Laws(settings.laws, settings.ranks)
        self._selector = stack.enter_context(selectors.DefaultSelector())
        self._workers: dict[int, Worker] = {}
        """The ranks that have not ended."""
        self._endings: dict[int, tuple[int, str]] = {}
        """Exit code and text of those that have."""
        self._files: list[Path] = []
        """The begin of the names of the files that this run has written."""
        stack.callback(self._remove_files)
        stack.callback(self._end_all)
        self._start(stack)
        self._outputs = Outputs(self._workers, tee=settings.tee)
        self._stacks = Stacks(self._workers, settings.busy_s, settings.limit_s)

    def _start(self, stack: ExitStack) -> None:
        settings, watching = self._settings, self._settings.watching
        listening = stack.enter_context(socket.create_server((_LOOPBACK, 0), backlog=settings.ranks + 16))
        port = listening.getsockname()[1]
        memory = os.memfd_create("simstrategy")
        stack.callback(os.close, memory)
        os.ftruncate(memory, settings.ranks << 38)
        store = self._server.start(_STORE)
        stack.callback(self._server.end, store)
        store.channel.send({"port": port}, hand=listening.fileno())
        self._asleep = Asleep(self._workers, store, port)
        function = settings.function
        files = () if function is None else function.files
        is_torchrun = function is None or function.is_torchrun
        shared = threads_variable(settings.ranks, os.environ)
        for rank in range(settings.ranks):
            worker = self._workers[rank] = self._server.start(_RANK)
            self._files.append(worker.output)
            environment = variables(rank, settings.ranks, port, worker.output.parent.name, f"{worker.output}.error")
            job: dict[str, Any] = {
                "rank": rank,
                "size": settings.ranks,
                "script": settings.script,
                "arguments": list(settings.arguments),
                "is_module": settings.is_module,
                "target": None if function is None else function.target,
                "data": None if function is None else function.data,
                "files": len(files),
                "order": settings.order,
                "device": settings.device,
                "seed": settings.seed,
                "to_file": rank > 0 or settings.tee or watching is not None,
                "apart": settings.tee or watching is not None,
                "environment": {**os.environ, **(environment | shared if is_torchrun else {})},
                "folder": os.getcwd(),
                "watching": watching and [watching.files[rank], watching.nudge, watching.detailed],
                "laws": [] if watching is not None else list(settings.laws),
            }
            worker.channel.send(job, hand=memory)
            for file in files:
                worker.channel.send({}, hand=file)
            self._selector.register(worker.channel, selectors.EVENT_READ, rank)

    def report(self) -> Report:
        """Serves the ranks until all have ended."""
        deadline_s = None
        matcher = self._matcher
        while self._workers:
            events = self._selector.select(_TURN_S)
            now_s = time.monotonic()
            for key, _ in events:
                self._receive(key.data, now_s)
            self._send()
            if not events or matcher.idle:
                matcher.examine(now_s)
                self._send()
            if not events:
                self._outputs.copy()
                self._stacks.look(matcher, now_s)
                self._asleep.look(matcher, now_s)
                self._send()
            if deadline_s is None and matcher.finding is not None:
                deadline_s = now_s + _GRACE_S
            if deadline_s is not None and now_s > deadline_s:
                self._end_all()
        self._outputs.copy(ended=True)
        return self._reported()

    def _receive(self, rank: int, now_s: float) -> None:
        worker = self._workers.get(rank)
        if worker is None:
            return
        try:
            for message in worker.channel.drain():
                if message[0] == "ready":
                    self._asleep.ready(rank, message[1])
                elif message[0] == "ended":
                    self._endings[rank] = (message[1], message[2])
                    if not message[1] and message[3]:
                        self._laws.receive(rank, "late", {"forgotten": message[3]})
                if message[0] == "observed":
                    self._laws.receive(rank, message[1], message[2])
                else:
                    self._matcher.receive(rank, message, now_s)
        except Closed:
            self._ended(rank)

    def _ended(self, rank: int) -> None:
        """Takes the exit code of a rank whose channel has closed; ends what it has left behind."""
        worker = self._workers.pop(rank)
        self._selector.unregister(worker.channel)
        left = rank not in self._endings and _goes_on(worker.process)
        code = self._server.end(worker)
        text = f"was killed by signal {-code}" if code < 0 else f"has ended with exit code {code}"
        if left:
            code, text = (
                1,
                "has closed its connection and gone on: close only what the script has opened, and replace no rank",
            )
        code, text = self._endings.setdefault(rank, (code, text))
        self._matcher.end(rank, code, text)

    def _send(self) -> None:
        for rank, message in self._matcher.outgoing:
            worker = self._workers.get(rank)
            if worker is not None:
                try:
                    worker.channel.send(message)
                except Closed:
                    self._ended(rank)
        self._matcher.outgoing.clear()

    def _end_all(self) -> None:
        for rank in list(self._workers):
            text = "was ended, because another rank had failed or a finding was made"
            self._endings.setdefault(rank, (-15, text))
            self._ended(rank)

    def _remove_files(self) -> None:
        for output in self._files:
            for file in output.parent.glob(f"{output.name}*"):
                file.unlink(missing_ok=True)

    def _reported(self) -> Report:
        ranks = [
            RankReport(rank, *self._endings[rank], self._outputs.text(rank)) for rank in range(self._settings.ranks)
        ]
        broken, remarks = self._laws.close()
        return Report(
            tuple(ranks),
            self._matcher.finding,
            self._matcher.failed,
            tuple(self._matcher.remarks),
            self._record,
            broken,
            remarks,
        )


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
