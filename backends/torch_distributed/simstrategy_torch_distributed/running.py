"""Runs a program on simulated ranks: starts them, brings their calls to the matcher, and ends what is left."""

import os
import selectors
import socket
import time
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any, Final, final

from simstrategy.launch.channel import Closed
from simstrategy.launch.server import Server, Worker
from simstrategy.schedules import Seeded
from simstrategy_torch_distributed.environment import threads_variable, variables
from simstrategy_torch_distributed.laws.judged import Laws
from simstrategy_torch_distributed.matching import Matcher
from simstrategy_torch_distributed.outputs import Outputs
from simstrategy_torch_distributed.preloading import modules_of_torch
from simstrategy_torch_distributed.record import Record
from simstrategy_torch_distributed.report import RankReport, Report
from simstrategy_torch_distributed.settings import Settings
from simstrategy_torch_distributed.stacks import Stacks

__all__ = ["Settings", "run", "server_for"]

_PRELOAD: Final = ("simstrategy_torch_distributed.rank", "simstrategy_torch_distributed.stored")
_RANK: Final = "simstrategy_torch_distributed.rank:serve"
_STORE: Final = "simstrategy_torch_distributed.stored:serve"
_GRACE_S: Final = 2.0
"""How long ranks may take to end after a finding, or after another one has failed."""
_TURN_S: Final = 0.1
"""How often outputs are copied and ranks are looked at, at least."""
_LOOPBACK: Final = "127.0.0.1"


def run(settings: Settings, server: Server | None = None) -> Report:
    """Runs a program on simulated ranks until all have ended; returns how, and what was found.

    Rank 0 prints to this process's output. server: of `server_for`, where several runs share one. Raises
    BackendUnavailable where processes cannot be started.
    """
    with ExitStack() as stack:
        if server is None:
            server = server_for(settings.script)
            stack.callback(server.close)
        return _Run(settings, server, stack).report()


def server_for(script: str, modules: Sequence[str] = ()) -> Server:
    """Returns what forks the ranks of a script: it has imported torch, and the modules of torch that the script does.

    modules: others that it imports. Raises BackendUnavailable where it cannot be started.
    """
    return Server([*_PRELOAD, *modules_of_torch(script), *modules])


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
        self._start(stack)
        self._outputs = Outputs(self._workers, tee=settings.tee)
        self._stacks = Stacks(self._workers, settings.busy_s)

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
        shared = threads_variable(settings.ranks, os.environ)
        for rank in range(settings.ranks):
            worker = self._workers[rank] = self._server.start(_RANK)
            environment = variables(rank, settings.ranks, port, worker.output.parent.name, f"{worker.output}.error")
            job: dict[str, Any] = {
                "rank": rank,
                "size": settings.ranks,
                "script": settings.script,
                "arguments": list(settings.arguments),
                "is_module": settings.is_module,
                "order": settings.order,
                "seed": settings.seed,
                "to_file": rank > 0 or settings.tee or watching is not None,
                "apart": settings.tee or watching is not None,
                "environment": environment | shared,
                "watching": watching and [watching.files[rank], watching.nudge, watching.detailed],
                "laws": [] if watching is not None else list(settings.laws),
            }
            worker.channel.send(job, hand=memory)
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
                if message[0] == "ended":
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
        code = self._server.end(worker)
        text = f"was killed by signal {-code}" if code < 0 else f"has ended with exit code {code}"
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
